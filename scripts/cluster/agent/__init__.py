"""What cluster.sh runs on each host: sent there over standard input for one call, and kept there for supervisors.

It needs Python 3.9 and nothing else, so that a host has to have no more than that.
"""
