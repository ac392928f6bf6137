package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/cli"
)

// completionTimeout bounds how long a shell waits after Tab.
const completionTimeout = 2 * time.Second

// maxWords bounds the words that a completion offers.
const maxWords = 100

// words finds the words that begin with begun, for a completion. Those in given are left out.
type words func(ctx context.Context, op operator, begun string, given []string) ([]string, error)

// The completions of flags that several commands have.
var (
	cellWords     = wordsOf(opsview.Cells, opsview.Any{}, "cell")
	regionWords   = wordsOf(opsview.Regions, opsview.Any{}, "region")
	modeWords     = wordsOf(opsview.Capacities, opsview.CapacityFilter{}, "mode")
	instanceWords = wordsOf(opsview.Fleet, opsview.FleetFilter{Running: true}, "instance")
	sessionWords  = wordsOf(opsview.Sessions, opsview.SessionFilter{}, "session")
)

// wordsOf returns the words that are values of a column of a view, in the rows that a filter selects.
func wordsOf[T any, F opsview.Filter](v opsview.View[T, F], f F, column string) words {
	return func(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
		return v.Words(ctx, op.store.Pool(), f, column, begun, given)
	}
}

// firstOnly returns words for the first argument alone.
func firstOnly(w words) words {
	return func(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
		if len(given) > 0 {
			return nil, nil
		}
		return w(ctx, op, begun, given)
	}
}

// matchingWords returns those of all words that begin with begun and are not in given.
func matchingWords(all []string, begun string, given []string) []string {
	// Cloned, because DeleteFunc and Sort change their argument, which may be a list of the package.
	found := slices.DeleteFunc(slices.Clone(all), func(word string) bool {
		return !strings.HasPrefix(word, begun) || slices.Contains(given, word)
	})
	slices.Sort(found)
	return found[:min(len(found), maxWords)] // a shell asks before it lists more
}

// wordsFrom returns the words of what a function reads, for arguments whose form is not that of a column.
func wordsFrom[T any](read func(ctx context.Context, op operator) ([]T, error), word func(T) string) words {
	return func(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
		// All items: the form of the arguments is made here, so that no query can look for its beginning.
		found, err := read(ctx, op)
		if err != nil {
			return nil, err
		}
		all := make([]string, len(found))
		for i, item := range found {
			all[i] = word(item)
		}
		return matchingWords(all, begun, given), nil
	}
}

// poolWords completes pools, REGION/APP/VERSION.
var poolWords = wordsFrom(func(ctx context.Context, op operator) ([]opsview.Pool, error) {
	return opsview.Pools.Read(ctx, op.store.Pool(), opsview.PoolFilter{}, opsview.Page{})
}, func(p opsview.Pool) string { return p.Region + "/" + p.App + "/" + p.Version })

// agentKeyWords completes the names of agent keys.
var agentKeyWords = wordsFrom(func(ctx context.Context, op operator) ([]db.AgentKey, error) {
	return op.store.AgentKeys(ctx, op.conf.config.Orchestrator.Options.Region)
}, func(k db.AgentKey) string { return k.Name })

// enrolmentWords completes enrolments, REGION/NAME.
var enrolmentWords = wordsFrom(func(ctx context.Context, op operator) ([]opsview.Enrolment, error) {
	return opsview.Enrolments.Read(ctx, op.store.Pool(), opsview.EnrolmentFilter{State: "valid"}, opsview.Page{})
}, func(e opsview.Enrolment) string { return e.Region + "/" + e.Name })

// projectWords completes the id of a project.
var projectWords = wordsFrom(func(ctx context.Context, op operator) ([]query.Project, error) {
	return op.store.Projects(ctx, "", db.MaxProjectPage)
}, func(p query.Project) string { return p.ID })

// projectKeyWords completes the id of a project, and behind it that of a key that is not revoked.
func projectKeyWords(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
	if len(given) == 0 {
		return projectWords(ctx, op, begun, given)
	}
	if len(given) > 1 {
		return nil, nil
	}
	keys, err := op.store.ProjectKeys(ctx, given[0], "", db.MaxProjectPage)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, k := range keys {
		if k.RevokedAt == nil {
			all = append(all, k.ID)
		}
	}
	return matchingWords(all, begun, nil), nil
}

// ticketWords completes the id of a queued ticket.
func ticketWords(ctx context.Context, op operator, begun string, _ []string) ([]string, error) {
	return op.store.TicketsBeginning(ctx, begun)
}

// filterFlag is a flag with which a list shows only the rows that have a value in a column.
type filterFlag struct {
	name  string
	value *string // "": all rows
	help  string
	words words
}

// addFilters adds flags that narrow a list. Their completion offers what there is.
func (p *program) addFilters(cmd *cobra.Command, filters ...filterFlag) {
	for _, f := range filters {
		cmd.Flags().StringVar(f.value, f.name, "", f.help)
		p.completeFlag(cmd, f.name, f.words)
	}
}

// addChoice adds a flag that has one of a few values, or the value that it has now, which is the default. Another one
// is a usage error: with a filter that matches nothing, the list would look empty.
func addChoice(cmd *cobra.Command, value *string, flag, help string, choices ...string) {
	defaultValue := *value
	cmd.Flags().StringVar(value, flag, defaultValue, help)
	completeFixed(cmd, flag, choices)
	checkFirst(cmd, func([]string) error {
		if *value == defaultValue || slices.Contains(choices, *value) {
			return nil
		}
		last := len(choices) - 1
		return cli.Usage(fmt.Errorf("--%s %q is not allowed: it must be %s or %s", flag, *value,
			strings.Join(choices[:last], ", "), choices[last]))
	})
}

// completeFixed registers the completion of a flag whose words do not depend on the database.
func completeFixed(cmd *cobra.Command, flag string, choices []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlag registers the completion of a flag.
func (p *program) completeFlag(cmd *cobra.Command, flag string, w words) {
	// Without the given arguments, which are no values of the flag.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		p.completeArgs(func(ctx context.Context, op operator, begun string, _ []string) ([]string, error) {
			return w(ctx, op, begun, nil)
		}))
}

// byCompletion are the settings that words depend on: the regions of agents, tickets and profiles, and the room types.
// They are not all settings of the command, which may be incomplete while somebody types.
const byCompletion = byOperator | byAgents | byProfiles | byRooms

// completeArgs returns the completion of arguments. It returns nothing and no error if the database is unreachable,
// because a shell would print the error into the command line.
func (p *program) completeArgs(w words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		// An unreachable database would otherwise block the shell after each Tab.
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
