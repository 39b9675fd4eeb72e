"""The event-loop lab: a service of Node.js or Python whose one thread makes a report now and then."""
