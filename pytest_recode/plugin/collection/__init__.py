"""From a path on the command line to the items of a session: manifests, registered parts, selection, shards."""
