package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswerBytes is far more than an incident takes.
const maxAnswerBytes = 32 << 20

// client calls the REST API (contracts/openapi.json); the types contain only the fields used here.
type client struct {
	server, token string
	http          *http.Client
}

type subject struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

type summary struct {
	ID           int64     `json:"id"`
	Title        string    `json:"title"`
	Severity     string    `json:"severity"`
	State        string    `json:"state"`
	LastSeenAt   time.Time `json:"last_seen_at"`
	Subject      subject   `json:"subject"`
	AlsoAffected []subject `json:"also_affected"`
}

type incident struct {
	summary
	Fixes []fix `json:"fixes"`
}

type fix struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Summary      string   `json:"summary"`
	Verdict      string   `json:"verdict"`
	Precondition string   `json:"precondition"`
	Caveats      []string `json:"caveats"`
	Patches      []patch  `json:"patches"`
	Undo         string   `json:"undo"`
}

type patch struct {
	Label    string `json:"label"`
	Language string `json:"language"`
	Text     string `json:"text"`
}

// unresolved are the states of incidents that are not resolved.
var unresolved = []string{"open", "acknowledged", "fix_applied", "did_not_help", "made_worse"}

// incidents lists those in the given states, newest first; no states: all.
func (c *client) incidents(ctx context.Context, states []string) (list []summary, err error) {
	query := url.Values{"limit": {"200"}, "state": states}
	for {
		var page struct {
			Items      []summary `json:"items"`
			NextCursor string    `json:"next_cursor"`
		}
		if err := c.get(ctx, "/incidents?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		if list = append(list, page.Items...); page.NextCursor == "" {
			return list, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

func (c *client) incident(ctx context.Context, id int64) (found incident, err error) {
	err = c.get(ctx, "/incidents/"+strconv.FormatInt(id, 10), &found)
	return found, err
}

func (c *client) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+"/api/v1"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body := io.LimitReader(response.Body, maxAnswerBytes)
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(body).Decode(answer); err != nil {
			return fmt.Errorf("%s: %w", request.URL.Redacted(), err)
		}
		return nil
	}
	var problem struct{ Title, Detail string } // RFC 9457
	if json.NewDecoder(body).Decode(&problem) != nil || problem.Title == "" {
		problem.Title = "the server answered " + response.Status
	}
	return fmt.Errorf("%s", plain(strings.TrimSpace(problem.Title+": "+problem.Detail)))
}

// plain replaces characters that could control a terminal: names of pods and programs come from elsewhere.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, text)
}
