package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"text/tabwriter"
)

func patchCommand(ctx context.Context, arguments []string, std streams) error {
	flags, given := options("patch", std)
	number := flags.Int("patch", 1, "which of the fix's patches, if it has several")
	apply := flags.Bool("apply", false, "run the command with kubectl, once you agree")
	agreed := flags.Bool("yes", false, "with --apply: do not ask")
	words, err := parse(flags, arguments)
	if err != nil {
		return err
	}
	if len(words) < 1 || len(words) > 2 {
		return errors.New("give an incident, and the fix: kubectl jitterscope patch ID [FIX]")
	}
	id, err := incidentID(words[0])
	if err != nil {
		return err
	}
	if len(words) == 1 && *apply {
		return errors.New("name the fix to apply")
	}
	api, err := given.client()
	if err != nil {
		return err
	}
	found, err := api.incident(ctx, id)
	if err != nil {
		return err
	}
	if len(words) == 1 {
		return listFixes(found, std)
	}
	chosen, err := found.fix(words[1])
	if err != nil {
		return err
	}
	if *number < 1 || *number > len(chosen.Patches) {
		return fmt.Errorf("%s has %d patches", chosen.ID, len(chosen.Patches))
	}
	one := chosen.Patches[*number-1]
	if err := chosen.show(one, std); err != nil || !*apply {
		return err
	}
	if err := applicable(chosen, one); err != nil {
		return err
	}
	if !*agreed {
		// The incident can belong to a different cluster than the one kubectl talks to.
		contextName, err := kubectlSays(ctx, "config", "current-context")
		if err != nil {
			return fmt.Errorf("not applied: %w", err)
		}
		if !agrees(contextName, std) {
			return errors.New("not applied")
		}
	}
	return runShell(ctx, one.Text, std)
}

func listFixes(found incident, std streams) error {
	if _, err := fmt.Fprintf(std.err, "%s\n\n", plain(found.Title)); err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "FIX\tVERDICT\tPATCHES\tTITLE")
	for _, one := range found.Fixes {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", plain(one.ID), plain(one.Verdict), len(one.Patches), plain(one.Title))
	}
	return table.Flush()
}

func (i *incident) fix(id string) (fix, error) {
	for _, one := range i.Fixes {
		if one.ID == id {
			return one, nil
		}
	}
	return fix{}, fmt.Errorf("incident %d has no fix %q: `kubectl jitterscope patch %d` lists them", i.ID, id, i.ID)
}

// show prints only the patch to standard output, so that it can be piped, and notes about it to standard error.
func (f *fix) show(one patch, std streams) error {
	told := []string{"# " + f.Title, "# " + one.Label}
	if f.Precondition != "" {
		told = append(told, "# "+f.Precondition)
	}
	for _, caveat := range f.Caveats {
		told = append(told, "# "+caveat)
	}
	told = append(told, "# Undo: "+strings.ReplaceAll(f.Undo, "\n", "\n# "))
	if _, err := fmt.Fprintln(std.err, plain(strings.Join(told, "\n"))); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, plain(one.Text))
	return err
}

// unknown matches the placeholders a patch has for names that are not known.
var unknown = regexp.MustCompile(`(^|[ /"'=])(NAMESPACE|NAME|POD|CONTAINER|REPLICAS|NODE|VALUE)($|[ /"'=])`)

// applicable reports why a patch cannot be run here.
func applicable(f fix, one patch) error {
	switch {
	case f.Verdict == "cannot_help":
		return fmt.Errorf("not applied: %s", plain(f.Summary))
	case one.Language != "shell" || !strings.HasPrefix(one.Text, "kubectl "):
		return errors.New("not applied: this is not a kubectl command")
	case plain(one.Text) != one.Text:
		return errors.New("not applied: it contains characters that a terminal does not show")
	}
	if match := unknown.FindStringSubmatch(one.Text); match != nil {
		return fmt.Errorf("not applied: fill in %s", match[2])
	}
	return nil
}

func agrees(contextName string, std streams) bool {
	_, _ = fmt.Fprintf(std.err, "Run it in kubectl's context %s? [y/N] ", plain(contextName))
	line, _ := bufio.NewReader(std.in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// runShell runs a patch unchanged: some first get a number from kubectl, in $(…).
func runShell(ctx context.Context, text string, std streams) error {
	command := exec.CommandContext(ctx, "sh", "-euc", text)
	command.Stdout, command.Stderr = std.out, std.err
	if err := command.Run(); err != nil {
		return fmt.Errorf("the command failed: %w", err)
	}
	return nil
}
