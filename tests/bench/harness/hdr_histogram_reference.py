#!/usr/bin/env python3
"""Prints the figures that histogram_test.cc expects, from PyPI's hdrhistogram (pip install hdrhistogram)."""

import sys

try:
    from hdrh.histogram import HdrHistogram
except ImportError:
    print("hdrhistogram is not installed: nothing compared")
    sys.exit(77)

PERCENTS = (1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100)
VALUES = {
    "uniform": lambda state, index: 1 + (state >> 33) % 1000000,
    "wide": lambda state, index: 1 + ((state >> 24) >> ((state >> 58) & 31)),
    "tail": lambda state, index: 500 + (state >> 40) % 200 + (1000000 if index % 1000 == 999 else 0),
}


def main():
    for name, value in VALUES.items():
        histogram = HdrHistogram(1, 1 << 40, 3)
        state = 42
        for index in range(200000):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            histogram.record_value(value(state, index))
        print(name, [histogram.get_value_at_percentile(percent) for percent in PERCENTS], histogram.get_mean_value())


if __name__ == "__main__":
    main()
