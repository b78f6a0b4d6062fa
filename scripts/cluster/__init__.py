"""scripts/cluster.sh: the nodes of a cluster, from one place. docs/deployment.md is for users."""
