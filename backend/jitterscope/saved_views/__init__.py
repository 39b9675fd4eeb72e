"""Lists of Explore saved by members: a name, the page, and its URL parameters; private or shared."""
