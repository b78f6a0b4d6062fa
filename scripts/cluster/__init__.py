"""Does what scripts/cluster.sh is asked for: it manages the nodes of a cluster from one place. docs/deployment.md is
for users.
"""
