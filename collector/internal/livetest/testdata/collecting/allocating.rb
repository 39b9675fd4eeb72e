# Makes garbage when the first file given exists, until Ruby has collected its whole heap three times. Then writes how many collections
# there were meanwhile, and how many of them were full, to the second.
# frozen_string_literal: true

Node = Struct.new(:me, :text)
live = Array.new(50_000) { |at| Node.new(at, +"text") }
GC.start
puts "ready"
$stdout.flush
sleep 0.01 until File.exist?(ARGV[0])

before = GC.stat
fulls = -> { GC.stat(:major_gc_count) - before[:major_gc_count] }
at = 0
while fulls.call < 3
  5_000.times { live[(at += 7919) % live.size] = Node.new(at, +"text") }
  live.concat(Array.new(500) { |i| Node.new(i, +"text") })
  sleep 0.002
end
GC.start # ends what is being marked or swept
counts = [GC.count - before[:count], fulls.call]
File.write("#{ARGV[1]}.new", counts.join(" "))
File.rename("#{ARGV[1]}.new", ARGV[1])
sleep
