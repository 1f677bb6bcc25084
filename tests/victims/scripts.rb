# SPDX-License-Identifier: MIT
# A victim in Ruby: allocates from all kinds of frames. An answer is a list: for each allocation its size, which
# is that of no other, and the stack as the interpreter itself has it at the same line, innermost first:
# [label, file, line]. It needs no library, so a Ruby that is not installed can execute it, too.
#
# $extended: what allocates is an extension in C (Fiddle), with the interpreter's lock given up.

$extended = ARGV.include?("fiddle")
if $extended
  require "fiddle"
  MALLOC = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
end
KEPT = []
FOUND = []
ROWS = []
LOCK = Mutex.new
$size = 70001

def acquire(*)
  size = 0
  LOCK.synchronize { size = $size += 16 }
  stack, kept = caller_locations(0), $extended ? MALLOC.call(size) : String.new(capacity: size - 1)
  KEPT << kept
  # a method in C at the beginning of a fiber has no file: there is no line that it was called from
  stack.select!(&:path)
  FOUND << [size, stack.map { |l| [l.label, l.path, l.lineno] }]
  0
end

def recurse(n)
  n > 0 ? recurse(n - 1) : acquire
end

def append_row(n)
  n.times do |i|
    ROWS << i # the growing line
  end
end

def churn(n)
  n.times { |i| "x" * (1000 + i) }
end

def yields
  yield 1
end

def blocks
  yields { |x| [x].each { |y| acquire(y) } }
  kept = proc { acquire }
  kept.call
  lambda { |x| yields { acquire } }.call(1)
  [1].each(&kept)
end

def ensures
  acquire
ensure
  acquire
end

def rescues
  raise "no"
rescue RuntimeError
  acquire
end

def optional(a, b = acquire, *rest, key: acquire, **others, &block)
  block ? block.call(a, b, rest, key, others) : acquire
end

class Shop
  attr_reader :sum

  def self.open(*args)
    new(*args).order
  end

  def initialize(n)
    @sum = n
    acquire
  end

  def order
    price + acquire
  end

  def price
    acquire
    1
  end

  def <=>(other)
    acquire
    @sum <=> other.sum
  end

  def to_s
    acquire
    "shop"
  end

  def method_missing(name, *args)
    acquire
  end

  def respond_to_missing?(*)
    true
  end

  define_method(:defined) { |x| acquire(x) }
end

class Child < Shop
  def order
    super + acquire
  end
end

class Numbers
  include Enumerable

  def each
    yield 3
    acquire
    yield 1
  end
end

def called_from_c
  Numbers.new.sort_by { |n| acquire; n }
  Numbers.new.map { |n| acquire(n) }.inject { |a, b| acquire; a + b }
  [Shop.new(2), Shop.new(1)].sort
  "#{Shop.new(1)}"
  "ab".gsub(/a/) { acquire; "c" }
  { 1 => 2 }.each_pair { |k, v| acquire(k, v) }
  Hash.new { |h, k| acquire }[1]
  Comparable.instance_method(:clamp).bind_call(1, 0, 2)
end

def enumerators
  e = Enumerator.new { |y| y << 1; acquire; y << 2 }
  e.next
  e.next
  e.each { |x| acquire(x) }
  (1..3).lazy.map { |x| acquire; x }.first(2)
end

def in_fibers
  fiber = Fiber.new { |n| recurse(n); Fiber.yield; yields { acquire } }
  fiber.resume(3)
  acquire
  fiber.resume
  Fiber.new { Fiber.new { acquire }.resume; acquire }.resume
end

def in_threads(n)
  n.times.map { |i| Thread.new(i) { |x| recurse(x) } }.each(&:join)
end

# What is evaluated is freed by the next collection, perhaps before a watch has read its name.
def evaluated
  GC.disable
  eval("def made_now(n)\n\n  n.times { acquire }\nend\nmade_now(1)")
  instance_eval { acquire }
  Class.new { define_method(:found) { acquire } }.new.found
  TOPLEVEL_BINDING.eval("acquire")
  Object.class_eval("acquire", "somewhere.rb", 41)
  send(:acquire)
  method(:acquire).call
  method(:recurse).to_proc.call(2)
  %w[x].each(&method(:acquire))
end

def several_lines
  [
    1,
    acquire,
    2
  ].sum(
    0)
end

# More than the first words of the table of lines, and more than one of its blocks.
eval("def long_one(n)\n" + (1..300).map { |i| "  n += #{i}; acquire if n == -1; acquire if #{i} % 97 == 5\n" }.join + "end\n")

def freed
  eval("lambda { acquire }.call")
  GC.enable
  GC.start
end

ORDERS = {
  "recursion" => ->(n) { recurse(n) },
  "blocks" => ->(_) { blocks },
  "ensures" => ->(_) { ensures },
  "rescues" => ->(_) { rescues },
  "arguments" => ->(_) { optional(1) { acquire }; optional(*[1, 2, 3], key: 2, more: acquire); optional(1, 2) },
  "class" => ->(_) { Shop.open(1); Child.open(2); Shop.new(1).defined(1); Shop.new(1).missing },
  "called" => ->(_) { called_from_c },
  "enumerators" => ->(_) { enumerators },
  "fibers" => ->(_) { in_fibers },
  "threads" => ->(n) { in_threads(n) },
  "evaluated" => ->(_) { evaluated },
  "caught" => ->(_) { catch(:done) { [1].each { acquire; throw :done } }; acquire },
  "loop" => ->(_) { loop { acquire; break }; 1.tap { acquire }; 1.then { acquire } },
  "lines" => ->(_) { several_lines },
  "long" => ->(_) { long_one(1) },
  "sorted" => ->(_) { [2, 1].sort_by { |x| acquire; x } },
  "append" => ->(n) { append_row(n) },
  "churn" => ->(n) { churn(n) },
  "freed" => ->(_) { freed },
}

def text_of(answer)
  stack = answer[1].map { |label, file, line| "[#{label.dump},#{file.dump},#{line}]" }
  "{\"size\":#{answer[0]},\"stack\":[#{stack.join(",")}]}"
end

def main
  $stdout.puts "ready #{$$}"
  $stdout.flush
  while (line = $stdin.gets)
    order, number = line.split
    FOUND.clear
    ORDERS[order].call(number.to_i) if order != "end"
    $stdout.puts "[#{FOUND.map { |answer| text_of(answer) }.join(",")}]"
    $stdout.flush
    break if order == "end"
  end
end

main
