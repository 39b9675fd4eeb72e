"""The negative-dentries lab: names that do not exist fill the kernel's dentry cache, and freeing them takes time."""
