"""How the official files of data sets get into the cache, checked: origins, downloads, archives."""
