"""Repository hosts: GitHub and GitLab, over their REST APIs."""
