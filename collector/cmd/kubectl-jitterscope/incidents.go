package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

func incidentsCommand(ctx context.Context, arguments []string, std streams) error {
	flags, given := options("incidents", std)
	var namespace string
	flags.StringVar(&namespace, "namespace", "", "namespace (default: that of kubectl's current context)")
	flags.StringVar(&namespace, "n", "", "short for --namespace")
	everywhere := flags.Bool("all-namespaces", false, "incidents of all namespaces, nodes, and systemd units")
	flags.BoolVar(everywhere, "A", false, "short for --all-namespaces")
	over := flags.Bool("resolved", false, "also resolved incidents")
	words, err := parse(flags, arguments)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return fmt.Errorf("unknown argument %q", words[0])
	}
	api, err := given.client()
	if err != nil {
		return err
	}
	if namespace == "" && !*everywhere {
		if namespace, err = currentNamespace(ctx); err != nil {
			return err
		}
	}
	states := unresolved
	if *over {
		states = nil
	}
	list, err := api.incidents(ctx, states)
	if err != nil {
		return err
	}
	if !*everywhere {
		list = of(list, namespace)
	}
	if len(list) == 0 {
		where := "in namespace " + namespace
		if *everywhere {
			where = "anywhere"
		}
		_, err := fmt.Fprintln(std.err, "No incidents", where)
		return err
	}
	table := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tSEVERITY\tSTATE\tLAST SEEN\tSUBJECT\tTITLE")
	for _, one := range list {
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", one.ID, one.Severity, one.State, ago(time.Since(one.LastSeenAt)),
			plain(one.Subject.Name), plain(one.Title))
	}
	return table.Flush()
}

// of keeps the incidents whose subject is in a namespace or that affect it. Kubernetes subjects are named
// NAMESPACE/POD/CONTAINER; cgroups without a name begin with a slash.
func of(list []summary, namespace string) (kept []summary) {
	within := func(s subject) bool { return strings.HasPrefix(s.Name, namespace+"/") }
	for _, one := range list {
		here := within(one.Subject)
		for _, other := range one.AlsoAffected {
			here = here || within(other)
		}
		if here {
			kept = append(kept, one)
		}
	}
	return kept
}

// currentNamespace is the namespace of kubectl's context.
func currentNamespace(ctx context.Context) (string, error) {
	namespace, err := kubectlSays(ctx, "config", "view", "--minify", "--output", "jsonpath={..namespace}")
	if err != nil {
		return "", fmt.Errorf("the current namespace is unknown, give --namespace or --all-namespaces: %w", err)
	}
	return cmp.Or(namespace, "default"), nil
}

// kubectlSays returns what kubectl prints.
func kubectlSays(ctx context.Context, words ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "kubectl", words...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", words[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ago formats an age as kubectl does.
func ago(age time.Duration) string {
	switch {
	case age < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(age.Seconds())))
	case age < time.Hour:
		return fmt.Sprintf("%dm", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%dh", int(age.Hours()))
	}
	return fmt.Sprintf("%dd", int(age.Hours()/24))
}
