package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// completionTimeout bounds how long a shell waits after Tab.
const completionTimeout = 2 * time.Second

// maxWords bounds the words that a completion offers.
const maxWords = 100

// words finds the words that begin with a text, for a completion. Those that were given already are left out.
type words func(ctx context.Context, l operator, begun string, given []string) ([]string, error)

// The completions of flags that several commands have.
var (
	cellWords     = wordsOf(opsview.Cells, opsview.Any{}, "cell")
	regionWords   = wordsOf(opsview.Regions, opsview.Any{}, "region")
	modeWords     = wordsOf(opsview.Capacities, opsview.CapacityFilter{}, "mode")
	instanceWords = wordsOf(opsview.Fleet, opsview.FleetFilter{Running: true}, "instance")
	sessionWords  = wordsOf(opsview.Sessions, opsview.SessionFilter{}, "session")
)

// wordsOf are the values of a column of a view, in the rows that a filter selects.
func wordsOf[T any, F opsview.Filter](v opsview.View[T, F], f F, column string) words {
	return func(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
		return v.Words(ctx, l.store.Pool(), f, column, begun, given)
	}
}

// firstOnly completes the first argument alone.
func firstOnly(w words) words {
	return func(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
		if len(given) > 0 {
			return nil, nil
		}
		return w(ctx, l, begun, given)
	}
}

// matchingWords returns those of all words that begin with a text and were not given.
func matchingWords(all []string, begun string, given []string) []string {
	found := slices.DeleteFunc(slices.Clone(all), func(word string) bool {
		return !strings.HasPrefix(word, begun) || slices.Contains(given, word)
	})
	slices.Sort(found)
	return found[:min(len(found), maxWords)] // a shell asks before it lists more
}

// poolWords completes pools, REGION/APP/VERSION.
func poolWords(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
	pools, err := opsview.Pools.Read(ctx, l.store.Pool(), opsview.PoolFilter{}, opsview.Page{})
	all := make([]string, len(pools))
	for i, p := range pools {
		all[i] = p.Region + "/" + p.App + "/" + p.Version
	}
	return matchingWords(all, begun, given), err
}

// agentKeyWords completes the names of agent keys.
func agentKeyWords(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
	keys, err := l.store.AgentKeys(ctx, l.conf.config.Orchestrator.Options.Region)
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.Name
	}
	return matchingWords(all, begun, given), err
}

// projectWords completes the id of a project.
func projectWords(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
	projects, err := l.store.Projects(ctx, "", db.MaxProjectPage)
	all := make([]string, len(projects))
	for i, p := range projects {
		all[i] = p.ID
	}
	return matchingWords(all, begun, given), err
}

// projectKeyWords completes the id of a project, and behind it that of a key that is not revoked.
func projectKeyWords(ctx context.Context, l operator, begun string, given []string) ([]string, error) {
	switch len(given) {
	case 0:
		return projectWords(ctx, l, begun, given)
	case 1:
	default:
		return nil, nil
	}
	keys, err := l.store.ProjectKeys(ctx, given[0], "", db.MaxProjectPage)
	var all []string
	for _, k := range keys {
		if k.RevokedAt == nil {
			all = append(all, k.ID)
		}
	}
	return matchingWords(all, begun, nil), err
}

// ticketWords completes the id of a ticket that waits.
func ticketWords(ctx context.Context, l operator, begun string, _ []string) ([]string, error) {
	return l.store.TicketsBeginning(ctx, begun)
}

// completeFlag registers the completion of a flag.
func (p *program) completeFlag(cmd *cobra.Command, flag string, w words) {
	// Without the given arguments, which are no values of the flag.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		p.completeArgs(func(ctx context.Context, l operator, begun string, _ []string) ([]string, error) {
			return w(ctx, l, begun, nil)
		}))
}

// byCompletion are the settings that words depend on: the regions of agents, tickets and profiles, and the room types.
// They are not all settings of the command, which may be incomplete while somebody types.
const byCompletion = byOperator | byAgents | byProfiles | byRooms

// completeArgs returns the completion of arguments. It returns nothing and no error if the database is unreachable,
// because a shell would print the error into the command line.
func (p *program) completeArgs(w words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		conf, err := loadSettings(cmd.Flags(), p.environ, byCompletion)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := p.openStore(ctx, conf)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer store.Close()
		found, _ := w(ctx, operator{conf: conf, store: store}, begun, given)
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
