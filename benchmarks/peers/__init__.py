"""Remembrancer beside its peers: one data set, one embedder, no language model, one table.

Each peer has a file here with an ``open`` that yields a ``Peer``. Peers are not dependencies of the
project: what is not installed is left out, and the table says so.
"""
