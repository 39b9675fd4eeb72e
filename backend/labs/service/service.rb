# The HTTP service of the labs on Ruby; its options are those of collector/cmd/jitterscope-service.
# frozen_string_literal: true

require "digest"
require "socket"

GIVEN = ARGV.to_h { |argument| argument.split("=", 2) }
def number(name) = GIVEN.fetch(name, "0").to_i

OBJECTS, REPLACED, HASHED_KIB = number("--objects"), number("--replaced"), number("--hashed-kib")
SLOW_EVERY, SLOW_MS = number("--slow-every"), number("--slow-ms")
BODY = "x" * number("--answer-bytes")
HEAD = "HTTP/1.1 200 OK\r\nContent-Length: #{BODY.bytesize}\r\n\r\n"

# About 128 bytes each.
Item = Struct.new(:at, :text, :a, :b, :c, :d, :e, :next)
def item(at) = Item.new(at, "", at, at, at, at, at, [at, at, at])

TABLE = Array.new(OBJECTS) { |at| item(at) }
LOCK = Mutex.new
$served = 0
$collected = [GC.count, GC.total_time]

def digest(kib)
  block = "\0" * 1024
  kib.times { block = Digest::SHA256.digest(block) + block.byteslice(32, 992) }
end

# A line for each collection that has begun since the last request, with its share of the time that all of them took.
def tell
  before, spent = $collected
  $collected = [GC.count, GC.total_time]
  cycles = $collected[0] - before
  ms = ($collected[1] - spent) / 1e6 / [cycles, 1].max
  cycles.times { puts format("GC %.3f ms, %d MB", ms, GC.stat(:heap_live_slots) * 40 >> 20) }
end

def work
  turn = LOCK.synchronize { $served += 1 }
  REPLACED.times { |i| TABLE[(turn * REPLACED + i) % OBJECTS] = item(turn) }
  digest(HASHED_KIB)
  sleep(SLOW_MS / 1000.0) if SLOW_EVERY.positive? && (turn % SLOW_EVERY).zero?
end

def serve(client)
  client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  while client.gets("\r\n\r\n")
    work
    client.write(HEAD, BODY)
    LOCK.synchronize { tell }
  end
rescue SystemCallError, IOError
  nil # the client has gone
ensure
  client.close
end

$stdout.sync = true
address, port = GIVEN.fetch("--listen").split(":")
server = TCPServer.new(address, port.to_i)
server.listen(4096)
loop { Thread.new(server.accept) { |client| serve(client) } }
