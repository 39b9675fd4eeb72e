package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlagsAreReadWhereverTheyAre(t *testing.T) {
	flags := flag.NewFlagSet("patch", flag.ContinueOnError)
	apply, number := flags.Bool("apply", false, ""), flags.Int("patch", 1, "")
	words, err := parse(flags, strings.Fields("12 --apply raise_cpu_limit --patch 2"))
	if err != nil || !slices.Equal(words, []string{"12", "raise_cpu_limit"}) || !*apply || *number != 2 {
		t.Errorf("%v %v %v %v", words, err, *apply, *number)
	}
}

func TestTheTokenStaysOnThisMachineOrEncrypted(t *testing.T) {
	for server, good := range map[string]bool{
		"https://jitterscope.example.com": true, "http://127.0.0.1:8000": true, "http://localhost:8000": true, "http://[::1]:8000": true,
		"http://jitterscope.example.com": false, "http://10.0.0.1": false, "jitterscope.example.com": false, "ftp://127.0.0.1": false, "https://": false,
	} {
		if err := checkServer(server); (err == nil) != good {
			t.Errorf("%s: %v", server, err)
		}
	}
}

func TestWhereServerAndTokenComeFrom(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("JITTERSCOPE_SERVER", "")
	t.Setenv("JITTERSCOPE_API_TOKEN", "")
	path := filepath.Join(folder, "jitterscope", "kubectl.toml")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(given access, server, token, failure string) {
		t.Helper()
		api, err := given.client()
		switch {
		case failure != "":
			if err == nil || !strings.Contains(err.Error(), failure) {
				t.Errorf("%v, want %q", err, failure)
			}
		case err != nil || api.server != server || api.token != token:
			t.Errorf("%+v, %v", api, err)
		}
	}
	expect(access{}, "", "", "no server or no API token")
	write(path, "server = 'https://file/'\ntoken = 'of-file'\n", 0o600)
	expect(access{}, "https://file", "of-file", "")
	t.Setenv("JITTERSCOPE_SERVER", "https://environment")
	t.Setenv("JITTERSCOPE_API_TOKEN", "of-environment")
	expect(access{}, "https://environment", "of-environment", "")
	token := filepath.Join(folder, "token")
	write(token, "of-flag\n", 0o600)
	expect(access{server: "https://flag", tokenFile: token}, "https://flag", "of-flag", "")
	expect(access{caFile: token}, "", "", "contains no certificate")
	write(path, "server = 'https://file'\ntoken = 'of-file'\n", 0o644)
	expect(access{}, "", "", "chmod 600")
	write(path, "sever = 'https://file'\n", 0o600)
	expect(access{}, "", "", "unknown key sever")
}

func TestWhatCanBeApplied(t *testing.T) {
	good := "kubectl -n shop scale deployment/web --replicas=$(( 2 * $(kubectl -n shop get deployment/web -o jsonpath={.spec.replicas}) ))"
	for text, failure := range map[string]string{
		good: "",
		`kubectl -n shop patch deployment/web -p '{"containers":[{"name":"NAMEPLATE"}]}'`: "",
		`kubectl -n shop patch deployment/NAME -p '{}'`:                                   "fill in NAME",
		`kubectl -n NAMESPACE set env deployment/web A=1`:                                 "fill in NAMESPACE",
		`kubectl -n shop patch deployment/web -p '{"containers":[{"name":"CONTAINER"}]}'`: "fill in CONTAINER",
		`sysctl -w vm.watermark_scale_factor=100`:                                         "not a kubectl command",
		"kubectl -n shop delete pod web\x1b[1A":                                           "does not show",
		`kubectl -n shop scale deployment/web --replicas=REPLICAS`:                        "fill in REPLICAS",
	} {
		err := applicable(fix{Verdict: "removes"}, patch{Language: "shell", Text: text})
		if (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("%s: %v, want %q", text, err, failure)
		}
	}
	if err := applicable(fix{Verdict: "cannot_help", Summary: "Managed by GKE."}, patch{Language: "shell", Text: good}); err == nil {
		t.Error("what cannot help is applied")
	}
	if err := applicable(fix{}, patch{Language: "yaml", Text: good}); err == nil {
		t.Error("YAML is run")
	}
}

func TestNamespaces(t *testing.T) {
	list := []summary{
		{ID: 1, Subject: subject{Name: "shop/web-1/web"}}, {ID: 2, Subject: subject{Name: "shop-two/web-1/web"}}, {ID: 3, Subject: subject{Name: "node1"}},
		{ID: 4, Subject: subject{Name: "kube-system/coredns-1/coredns"}, AlsoAffected: []subject{{Name: "shop/web-2/web"}}},
	}
	var ids []int64
	for _, one := range of(list, "shop") {
		ids = append(ids, one.ID)
	}
	if !slices.Equal(ids, []int64{1, 4}) {
		t.Errorf("%v", ids)
	}
}

func TestAgo(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m", 3 * time.Hour: "3h", 47 * time.Hour: "47h", 100 * time.Hour: "4d",
	} {
		if got := ago(age); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for line, failure := range map[string]string{
		"": "a command is needed", "incident": "unknown command", "incidents shop": "unknown argument", "patch": "give an incident",
		"patch raise_cpu_limit": "not an incident", "patch 12 --apply": "name the fix", "open": "give one incident", "open -1x": "flag provided",
	} {
		var out strings.Builder
		err := run(context.Background(), strings.Fields(line), streams{strings.NewReader(""), &out, &out})
		if err == nil || !strings.Contains(err.Error(), failure) {
			t.Errorf("%q: %v, want %q", line, err, failure)
		}
	}
}
