# Collects garbage again and again, and writes each collection to the file given: minor or full, begin and end in microseconds
# since the Unix epoch.
# frozen_string_literal: true

def now = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)

Node = Struct.new(:me, :text)
live = Array.new(50_000) { |at| Node.new(at, +"text") }
GC.start
GC.disable # but for what follows
log = File.open(ARGV[0], "a")
log.sync = true
puts "ready"
$stdout.flush
at = 0
(1..).each do |turn|
  full = (turn % 5).zero?
  10_000.times { live[(at += 7919) % live.size] = Node.new(at, +"text") }
  began = now
  GC.start(full_mark: full, immediate_sweep: true)
  log.puts "#{full ? "full" : "minor"} #{began} #{now}"
  sleep 0.02
end
