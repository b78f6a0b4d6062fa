# The tests that run two nodes as processes of this host source this file.

# cluster_file NAME [DIRECTORIES]: prints a cluster file of two nodes with data, which see each other's directories (by_host, the
# default) or not (apart).
cluster_file() {
  cat << TOML
[cluster]
name = "$1"
run_directory = "run"
directories = "${2:-by_host}"
[defaults]
workers = 1
memory = "128MiB"
data_directory = "data"
reliable_directory = "rings"
[[node]]
id = 1
[[node]]
id = 2
TOML
}

# zookeeper_membership SERVERS TIMEOUT_MS: prints the section [membership], which goes after the cluster file.
zookeeper_membership() { printf '[membership]\nkind = "zookeeper"\nsession_timeout_ms = %s\nservers = ["%s"]\n' "$2" "${1//,/\", \"}"; }

# await SECONDS COMMAND...: waits until the command succeeds, and calls the test's fail() if that takes longer.
await() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [[ $SECONDS -lt $until ]] || fail "not within the time: $*"
    sleep 0.1
  done
}
