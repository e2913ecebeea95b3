"""Times the operations of a list in a Python package: algebra_peers.py pycute|tensor_layouts LIST.
Prints nanoseconds a call, a line each, as bench_algebra does."""

import importlib
import math
import sys
import time

LONG_ENOUGH = 0.02
REPETITIONS = 5

NAMES = {
    "pycute": {"eval": lambda a, b: a(b)},
    "tensor_layouts": {"composition": "compose", "eval": lambda a, b: a(b)},
}


def read_value(module, text):
    if ":" not in text:
        return eval(text)
    shape, stride = text.split(":")
    return module.Layout(eval(shape), eval(stride))


def function_of(module, name):
    renamed = NAMES[module.__name__].get(name, name)
    return renamed if callable(renamed) else getattr(module, renamed)


def time_calls(f, arguments, n):
    start = time.perf_counter()
    for _ in range(n):
        f(*arguments)
    return time.perf_counter() - start


def nanoseconds(f, arguments):
    n = 10
    while time_calls(f, arguments, n) < LONG_ENOUGH:
        n *= 2
    return min(time_calls(f, arguments, n) for _ in range(REPETITIONS)) / n * 1e9


def main():
    module = importlib.import_module(sys.argv[1])
    for line in open(sys.argv[2]):
        if line.startswith("#") or not line.strip():
            continue
        op, *texts = line.strip().split("|")
        arguments = [read_value(module, text) for text in texts]
        try:
            print("%.1f" % nanoseconds(function_of(module, op), arguments))
        except Exception as error:  # a peer may refuse an operand
            print("%s: %s" % (line.strip(), error), file=sys.stderr)
            print(math.nan)


main()
