package provider

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// Provider runs game servers. Its methods are safe for concurrent use, end when ctx ends, and return errors of type
// *[Error].
type Provider interface {
	// Deploy starts a game server and returns what is known of it, at least its Ref. It does not wait until the server
	// is ready. A provider with [Capabilities].NativeNames returns the deployment that exists under the tag, and starts
	// no second one. Errors: any kind but Gone. Only after Ambiguous may a server have been started, or after Capacity
	// with a Ref.
	Deploy(ctx context.Context, s Spec) (Observation, error)
	// Get returns the state of a deployment. One that has ended is in [PhaseGone], and one that the provider does not
	// know in [PhaseAbsent], without an error: a provider may know a deployment late, so a single such answer proves
	// nothing. Errors: Transient, RateLimited, Permanent.
	Get(ctx context.Context, ref Ref) (Observation, error)
	// Find returns the deployments with this owner and tag, at most [MaxFound]. Several are possible without
	// NativeNames. None proves nothing while the provider may still list a deployment late. Errors: Transient,
	// RateLimited, Permanent.
	Find(ctx context.Context, owner Owner, tag Tag) ([]Observation, error)
	// Stop makes a deployment end: its process has grace to finish after SIGTERM. Nil means that the provider has
	// accepted this; Get reports when it is over. Stop may be repeated. Errors: Gone if there is nothing to stop,
	// Transient, RateLimited, Permanent.
	Stop(ctx context.Context, ref Ref, grace time.Duration) error
	// List returns a page of all deployments of an owner; the first page has cursor "". Those that are gone may be
	// absent. An absent deployment proves something only in a complete list, see [ListAll]. Errors: Transient,
	// RateLimited, Permanent.
	List(ctx context.Context, owner Owner, cursor string) (Page, error)
	// Capabilities returns what this provider can do. It makes no call.
	Capabilities() Capabilities
}

// Checker is implemented by a [Provider] that can tell whether it could start something, without starting it.
type Checker interface {
	// Check returns nil if Deploy with this App and Version has what it needs: credentials that are accepted, and an
	// app that exists and may be started. Errors: Permanent if somebody has to change something, else Transient or
	// RateLimited.
	Check(ctx context.Context, app, version string) error
}

// LogReader is implemented by a [Provider] that can read what its game servers print.
type LogReader interface {
	// ReadLog returns the last lines that a deployment's server has printed, at most 4 MiB, also of one that has ended
	// lately. Errors: Gone if there is no log, Transient, Permanent.
	ReadLog(ctx context.Context, ref Ref, lines int) ([]byte, error)
}

// LastLines returns the last lines of a text, as many as lines says at most.
func LastLines(text []byte, lines int) []byte {
	at := len(bytes.TrimSuffix(text, []byte("\n")))
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return text[min(at+1, len(text)):]
}

// Capabilities lists the abilities of a provider.
type Capabilities struct {
	NativeNames bool          // a tag names at most one deployment, so that Deploy may be repeated
	List        bool          // Find and List work; else Get is the only source
	Stop        bool          // Stop works; else servers end by themselves
	Webhooks    bool          // it calls Spec.Webhook when a state changes
	WarmPool    bool          // it keeps servers ready by itself: a pool of the director has no buffer there
	MaxLifetime time.Duration // of a deployment; zero is unbounded
	Rates       Rates
}

// Rates are how many calls per second an account may make, over all workers. Zero is unbounded.
type Rates struct{ Deploy, Get, List, Stop float64 }

// Page is a part of a list.
type Page struct {
	Deployments []Observation
	Skipped     int    // deployments that this page listed although they are not of the owner
	Next        string // the cursor of the next page; empty in the last
	Total       int    // deployments in all pages, as the provider counts them; negative if it does not
}

// maxPages bounds ListAll: providers return 10 or more deployments in a page.
const maxPages = 1000

// ListAll returns the complete list of an owner's deployments, each once, or an error. The list changes while its pages
// are read, so a deployment may be on two pages or on none; the second is an error of kind Transient wherever the
// provider counts.
func ListAll(ctx context.Context, p Provider, owner Owner) ([]Observation, error) {
	return Collect(func(cursor string) (Page, error) { return p.List(ctx, owner, cursor) })
}

// Collect reads all pages, as [ListAll] does.
func Collect(list func(cursor string) (Page, error)) ([]Observation, error) {
	var all []Observation
	seen := map[Ref]bool{}
	cursor, total, skipped := "", -1, 0
	for range maxPages {
		page, err := list(cursor)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Deployments {
			if !seen[o.Ref] {
				seen[o.Ref] = true
				all = append(all, o)
			}
		}
		// The largest count: one that has shrunk meanwhile must not hide what is missing.
		total, skipped = max(total, page.Total), skipped+page.Skipped
		if page.Next == "" {
			return all, missingError(total, len(all)+skipped)
		}
		cursor = page.Next
	}
	return nil, Fail(Transient, "list", fmt.Errorf("has more than %d pages", maxPages))
}

func missingError(total, got int) error {
	if got < total {
		return Fail(Transient, "list", fmt.Errorf("has %d of %d deployments: it changed while it was read", got, total))
	}
	return nil
}
