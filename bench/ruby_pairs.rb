# SPDX-License-Identifier: MIT
# The target of script_stacks.py in Ruby: as python_pairs.py.

EVERY = 64 # pairs between two readings of the clock

# For how long this thread has waited for a processor.
def waited_ns
  File.read("/proc/self/schedstat").split[1].to_i
end

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def pairs(ms)
  began, waited, n = now_ns, waited_ns, 0
  while now_ns < began + ms * 1000000
    EVERY.times { String.new(capacity: 4000).clear }
    n += EVERY
  end
  (now_ns - began - (waited_ns - waited)) / n.to_f
end

def serve
  $stdout.puts $$
  $stdout.flush
  while (line = $stdin.gets)
    $stdout.puts pairs(line.to_i)
    $stdout.flush
  end
end

def below(frames)
  frames > 0 ? below(frames - 1) : serve
end

below(ARGV[0].to_i)
