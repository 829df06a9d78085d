"""The tools of contributors: benchmarks, fuzzers, comparisons of sources, releases."""
