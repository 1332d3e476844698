"""Large results and attachments, offloaded: the store, compact forms, partial reads, references."""
