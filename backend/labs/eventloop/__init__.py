"""The event-loop lab: a Node.js or Python service whose only working thread makes a report now and then."""
