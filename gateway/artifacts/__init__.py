"""Large results and attachments kept aside: the shelf, compact forms, partial reads, references."""
