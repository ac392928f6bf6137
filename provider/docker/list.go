package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

const (
	// pageSize is how many containers the engine returns in a page.
	pageSize = 100
	// keepGone is how long containers that have ended are kept, so that operators can read their logs.
	keepGone = time.Hour
)

// listed is an entry of GET /containers/json.
type listed struct {
	ID      string `json:"Id"`
	Created int64
	State   string
	Labels  map[string]string
	Ports   []struct {
		PrivatePort, PublicPort uint16
		Type                    string
	}
}

// List implements provider.Provider. The cursor is the id of the last container of the page before; pages go from the
// newest to the oldest. Containers that ended long ago are removed on the way.
func (p *Provider) List(ctx context.Context, owner provider.Owner, cursor string) (provider.Page, error) {
	if err := ctx.Err(); err != nil {
		return provider.Page{}, provider.Fail(provider.Transient, "list", err)
	}
	if !owner.Valid() {
		return provider.Page{}, provider.Fail(provider.Permanent, "list", fmt.Errorf("%.40q is no owner", owner))
	}
	entries, err := p.readEntries(ctx, owner, cursor)
	if err != nil {
		return provider.Page{}, err
	}
	page := provider.Page{Total: -1}
	for _, e := range entries {
		if e.Labels[labelOwner] == string(owner) && provider.Tag(e.Labels[labelTag]).Valid() {
			p.addRunning(&page, e)
		}
	}
	if len(entries) == pageSize {
		page.Next = entries[pageSize-1].ID
	} else {
		// Only with the last page: removals would move the pages that follow.
		p.tidyEnded(ctx, owner)
	}
	return page, nil
}

// addRunning adds an entry to the page if the container runs, or may.
func (p *Provider) addRunning(page *provider.Page, e listed) {
	phase := phaseOf(e.State)
	// A container that was created and not started is no deployment yet: see the package comment.
	if phase == provider.PhaseGone || e.State == stateCreated {
		return
	}
	tag := provider.Tag(e.Labels[labelTag])
	page.Deployments = append(page.Deployments, provider.Observation{
		Ref: provider.Ref(tag), Tag: tag, Phase: phase, IP: p.cfg.Advertise, Raw: httpcall.Scrub(e.State, nil),
		Ports:   portsOf(e.Labels, e.publishedPort),
		Started: time.Unix(e.Created, 0),
	})
}

func (e listed) publishedPort(key string) string {
	// The engine lists a port once for each address, and without a public port where it is only exposed.
	for _, port := range e.Ports {
		if fmt.Sprintf("%d/%s", port.PrivatePort, port.Type) == key && port.PublicPort != 0 {
			return strconv.Itoa(int(port.PublicPort))
		}
	}
	return ""
}

// readEntries reads a page. Without states, containers that have ended are in it, so that a page ends where the
// engine's page ends.
func (p *Provider) readEntries(ctx context.Context, owner provider.Owner, cursor string,
	states ...string) ([]listed, error) {
	filter := map[string][]string{"label": {labelOwner + "=" + string(owner)}}
	if cursor != "" {
		filter["before"] = []string{cursor}
	}
	if len(states) > 0 {
		filter["status"] = states
	}
	filters, err := json.Marshal(filter)
	if err != nil {
		return nil, provider.Fail(provider.Permanent, "list", err)
	}
	query := url.Values{"all": {"1"}, "limit": {strconv.Itoa(pageSize)}, "filters": {string(filters)}}
	a, err := p.callEngine(ctx, call{op: "list", method: http.MethodGet, path: "/containers/json", query: query})
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK { // such as for a cursor whose container was removed meanwhile
		return nil, answerError(provider.Transient, "list", a, nil)
	}
	var entries []listed
	if err := json.Unmarshal(a.Body, &entries); err != nil {
		return nil, provider.Fail(provider.Transient, "list", fmt.Errorf("is no list: %w", err))
	}
	return entries, nil
}

// tidyEnded removes containers that ended, or were created and not started, more than keepGone ago. The next call tries
// again what could not be removed.
func (p *Provider) tidyEnded(ctx context.Context, owner provider.Owner) {
	ended, err := p.readEnded(ctx, owner)
	if err != nil {
		return
	}
	inspectCount := 0
	for _, e := range ended {
		// A container cannot have ended before it was created, and the following ones are newer: no call is needed.
		if time.Since(time.Unix(e.Created, 0)) < keepGone || inspectCount == pageSize {
			return
		}
		inspectCount++
		c, ok, err := p.inspectContainer(ctx, "list", provider.Tag(e.Labels[labelTag]))
		if err != nil {
			return
		}
		if ok && time.Since(c.State.FinishedAt) > keepGone && c.State.Status != "running" {
			_ = p.removeContainer(ctx, e.ID) // refused by the engine if it runs again
		}
	}
}

// readEnded reads all pages of the containers that do not run, and returns the oldest first. It reads them before any
// is removed, since the engine refuses the cursor of a container that is gone.
func (p *Provider) readEnded(ctx context.Context, owner provider.Owner) (ended []listed, err error) {
	for cursor := ""; ; {
		page, err := p.readEntries(ctx, owner, cursor, stateExited, stateDead, stateCreated)
		if err != nil {
			return nil, err
		}
		ended = append(ended, page...)
		if len(page) < pageSize {
			slices.Reverse(ended)
			return ended, nil
		}
		cursor = page[len(page)-1].ID
	}
}
