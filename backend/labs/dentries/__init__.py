"""The negative-dentries lab: names that do not exist fill the kernel's cache, and dropping them takes time."""
