package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
)

const (
	itemsPerPage = 200
	maxPages     = 100
)

// Where a server takes a list from: its store, page by page, or whatever it has cached, which it sends at once.
const (
	fromStore = ""
	fromCache = "&resourceVersion=0"
)

// list visits what is at a path, one item at a time.
func list[T any](ctx context.Context, s Server, path, from string, visit func(*T)) error {
	next := ""
	for range maxPages {
		page := fmt.Sprintf("%s?limit=%d%s", path, itemsPerPage, from)
		if next != "" { // it holds the version
			page = fmt.Sprintf("%s?limit=%d&continue=%s", path, itemsPerPage, url.QueryEscape(next))
		}
		next = ""
		err := s.read(ctx, page, func(body io.Reader) error { return eachItem(body, &next, visit) })
		if err != nil || next == "" {
			return err
		}
	}
	return fmt.Errorf("API server: %s has more than %d items", path, maxPages*itemsPerPage)
}

// eachItem reads a list such as a v1.NodeList.
func eachItem[T any](body io.Reader, next *string, visit func(*T)) error {
	decoder := json.NewDecoder(body)
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(errNoList, err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		switch key {
		case "metadata":
			var metadata struct{ Continue string }
			if err := decoder.Decode(&metadata); err != nil {
				return err
			}
			*next = metadata.Continue
		case "items":
			if err := items(decoder, visit); err != nil {
				return err
			}
		default:
			var skipped json.RawMessage
			if err := decoder.Decode(&skipped); err != nil {
				return err
			}
		}
	}
	return nil
}

func items[T any](decoder *json.Decoder, visit func(*T)) error {
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		if token == nil && err == nil {
			return nil // null
		}
		return errors.Join(errNoList, err)
	}
	for decoder.More() {
		item := new(T)
		if err := decoder.Decode(item); err != nil {
			return err
		}
		visit(item)
	}
	_, err := decoder.Token()
	return err
}

var errNoList = errors.New("not a list")
