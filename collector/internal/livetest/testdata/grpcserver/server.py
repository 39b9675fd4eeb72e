"""The same as main.go, with gRPC's C library, which encodes headers in its own way."""

import sys
import time
from concurrent import futures

import grpc

CODES = {code.value[0]: code for code in grpc.StatusCode}


def wait(asked, what):
    time.sleep(float(asked.get(what, "0ms").removesuffix("ms")) / 1000)


def answer(request, context):
    asked = dict(context.invocation_metadata())
    wait(asked, "sleep")
    code = int(asked.get("code", 0))
    if code:
        context.abort(CODES[code], "as asked")
    return request


def watch(request, context):
    asked = dict(context.invocation_metadata())
    yield request
    wait(asked, "hold")
    code = int(asked.get("code", 0))
    if code:
        context.abort(CODES[code], "as asked")


server = grpc.server(futures.ThreadPoolExecutor(8))
methods = {
    "Ask": grpc.unary_unary_rpc_method_handler(answer),
    "Watch": grpc.unary_stream_rpc_method_handler(watch),
}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Calls", methods),))
server.add_insecure_port(sys.argv[1])
server.start()
print("ready", flush=True)
sys.stdin.read()
server.stop(0)
