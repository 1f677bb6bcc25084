# SPDX-License-Identifier: MIT
# Of doc/recipes.md: every tenth string is kept.
$stdout.sync = true
$kept = []
n = 0

def receive(n)
  text = "x" * 2000
  $kept << text if n % 10 == 0
end

puts "ready #{Process.pid}"
loop do
  100.times { receive(n += 1) }
  sleep 0.02
end
