"""How fast, how right and how large a store is, beside its peers: `python -m benchmarks.store`.

`data` makes the same items and vectors for everyone, `peers` has one class a store, `measures` runs
in a child process of its own for each store, `report` computes and renders, `plots` draws.
"""
