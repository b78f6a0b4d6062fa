"""Runs on each host for cluster.sh, which sends it over standard input for one call. Supervisors have a copy on the
host.

It needs Python 3.9 and nothing else, so that a host has to have no more than that.
"""
