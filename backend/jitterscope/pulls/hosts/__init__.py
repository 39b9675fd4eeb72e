"""What hosts repositories: GitHub and GitLab, over their REST APIs."""
