package provider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/provider"
)

func TestTags(t *testing.T) {
	t.Parallel()
	seen := map[provider.Tag]bool{}
	for range 1000 {
		tag := provider.NewTag()
		require.True(t, tag.Valid(), tag)
		require.Len(t, string(tag), provider.MaxTagBytes)
		require.False(t, seen[tag])
		seen[tag] = true
	}
	for _, bad := range []provider.Tag{"", "-a", "a-", "A", "a_b", "a b", "ä", "aaaaaaaaaaaaaaaaaaaaa"} {
		require.False(t, bad.Valid(), bad)
	}
	owner, err := provider.OwnerOf("eu-production")
	require.NoError(t, err)
	require.Equal(t, provider.Owner("ld-eu-production"), owner)
	require.True(t, owner.Valid())
	for _, bad := range []string{"", "Prod", "prod-", "123456789012345678"} {
		_, err := provider.OwnerOf(bad)
		require.ErrorContains(t, err, "owner")
	}
	require.False(t, provider.Owner("production").Valid(), "an owner without its prefix could be a tag of somebody else")
}

func valid() provider.Spec {
	return provider.Spec{
		Tag: provider.NewTag(), Owner: "ld-test", App: "arena", Version: "1.0",
		Env: provider.Env{"FLEET_TOKEN": "s3cret-value"}, Webhook: "https://example.com/hooks/s3cret-value",
		Ports: []provider.Port{{Name: "game", Internal: 5000, Protocol: provider.UDP}},
	}
}

// Pins an error that does not name the field, or that holds a value.
func TestSpecCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, valid().Check())
	for field, spoil := range map[string]func(*provider.Spec){
		"tag":       func(s *provider.Spec) { s.Tag = "Not-a-tag" },
		"owner":     func(s *provider.Spec) { s.Owner = "production" },
		"app":       func(s *provider.Spec) { s.App = "" },
		"version":   func(s *provider.Spec) { s.Version = strings.Repeat("v", 201) },
		"hint":      func(s *provider.Spec) { s.Hint.Coords = &provider.Coords{Latitude: math.NaN()} },
		"resources": func(s *provider.Spec) { s.Resources.CPUUnits = -1 },
		"lifetime":  func(s *provider.Spec) { s.Lifetime = -1 },
		"webhook":   func(s *provider.Spec) { s.Webhook = provider.Secret(strings.Repeat("x", 2049)) },
		"BIG":       func(s *provider.Spec) { s.Env["BIG"] = strings.Repeat("s3cret-value", 400) },
		"NUL":       func(s *provider.Spec) { s.Env["NUL"] = "a\x00" },
		"A=B":       func(s *provider.Spec) { s.Env["A=B"] = "" },
		"twice":     func(s *provider.Spec) { s.Ports = append(s.Ports, s.Ports[0]) },
		"protocol":  func(s *provider.Spec) { s.Ports[0].Protocol = "sctp" },
		"no name":   func(s *provider.Spec) { s.Ports[0].Name = "Game Port" },
		"65":        func(s *provider.Spec) { s.Ports = make([]provider.Port, 65) },
		"129":       func(s *provider.Spec) { s.Env = manyVariables(129) },
	} {
		s := valid()
		spoil(&s)
		err := s.Check()
		require.ErrorContains(t, err, field)
		require.Equal(t, provider.Permanent, provider.KindOf(err))
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func manyVariables(n int) provider.Env {
	e := provider.Env{}
	for i := range n {
		e[fmt.Sprintf("V%d", i)] = ""
	}
	return e
}

// Pins an environment or a webhook's URL in a log.
func TestSpecIsNotPrinted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := valid()
	slog.New(slog.NewTextHandler(&log, nil)).Info("deploy", slog.Any("spec", s), slog.Any("env", s.Env), slog.Any("hook", s.Webhook))
	text := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text += fmt.Sprintf(verb+verb, s, &s)
	}
	require.NotContains(t, text, "s3cret")
	require.NotContains(t, text, fmt.Sprintf("%x", "s3cret"))
	require.Contains(t, text, "FLEET_TOKEN")
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("deploy eu: %w", &provider.Error{Kind: provider.RateLimited, Op: "deploy", RetryAfter: time.Second, Err: context.Canceled})
	require.Equal(t, provider.RateLimited, provider.KindOf(err))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, provider.Ambiguous, provider.KindOf(errors.New("something else")), "an unknown error must not lead to a second Deploy")
}

// pages is a provider with nothing but lists.
type pages struct {
	provider.Provider
	list []provider.Page
}

func (p pages) List(_ context.Context, _ provider.Owner, cursor string) (provider.Page, error) {
	at := 0
	if cursor != "" {
		_, err := fmt.Sscan(cursor, &at)
		if err != nil {
			return provider.Page{}, provider.Fail(provider.Permanent, "list", err)
		}
	}
	page := p.list[at%len(p.list)]
	if at+1 != len(p.list) {
		page.Next = fmt.Sprint(at + 1)
	}
	return page, nil
}

// A list is complete or an error, whatever moved between its pages: absence from it leads to decisions.
func TestAllIsCompleteOrAnError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOf(rapid.IntRange(0, 20)), 1, 5).Draw(t, "pages")
		total := rapid.IntRange(-1, 30).Draw(t, "total")
		var p pages
		distinct := map[provider.Ref]bool{}
		for _, refs := range lists {
			page := provider.Page{Total: total}
			for _, r := range refs {
				ref := provider.Ref(fmt.Sprint(r))
				distinct[ref] = true
				page.Deployments = append(page.Deployments, provider.Observation{Ref: ref, IP: netip.Addr{}})
			}
			p.list = append(p.list, page)
		}
		all, err := provider.ListAll(context.Background(), p, "ld-test")
		if len(distinct) < total {
			require.Equal(t, provider.Transient, provider.KindOf(err))
			return
		}
		require.NoError(t, err)
		require.Len(t, all, len(distinct))
	})
}

func TestAllEnds(t *testing.T) {
	t.Parallel()
	endless := pages{list: make([]provider.Page, 1_000_000)}
	_, err := provider.ListAll(t.Context(), endless, "ld-test")
	require.Equal(t, provider.Transient, provider.KindOf(err))
}
