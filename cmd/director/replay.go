package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/matching/replayer"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	profile, name, from, until, capacity, report string
	regions                                      []string
	accept                                       float64
}

// byReplayed are the settings of replay.
const byReplayed = byProfile | byReplay

func (p *program) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Try a profile on recorded tickets",
		Long: "Runs a profile on recorded tickets, in virtual time, and compares waiting times and match quality with the recorded ones. It\n" +
			"reads the history that DIRECTOR_MATCH_HISTORY keeps, in pages, and the tickets that wait, and writes nothing, so DATABASE_URL\n" +
			"may name a standby.\n\n" +
			"A replay of the version that was live repeats its matches, except where servers were missing or another worker took over; the\n" +
			"last line counts them. Every form of the report lists what the replay does not reproduce.",
		Example: "  director replay --profile new.yaml --from 24h\n" +
			"  director replay --profile new.yaml --from 2026-01-05T18:00:00Z --to 2026-01-05T22:00:00Z --report page.html\n" +
			"  director replay --name ranked-5v5@3 --from 168h -o json | jq .replayed.waiting_s\n" +
			"  director replay --profile new.yaml --name ranked-5v5 --from 24h --capacity recorded --accept-rate 0.9",
		Args: cli.Exactly(0),
	}
	f := replayFlags{}
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "",
		"The profile to try, a YAML or JSON file; - reads standard input. Not set: a stored version, see --name")
	flags.StringVar(&f.name, "name", "",
		"The profile whose tickets are replayed, by default that of the file; without --profile also the version to try, NAME or NAME@VERSION")
	flags.StringVar(&f.from, "from", "",
		"When to begin: a time such as 2026-01-05T18:00:00Z, or how long ago, such as 24h")
	flags.StringVar(&f.until, "to", "0s", "When to end, in the same form; by default now")
	// The default of addChoice is the value that the variable has.
	f.capacity = "unlimited"
	addChoice(cmd, &f.capacity, "capacity", "unlimited: every match finds a server. "+
		"recorded: no match finds one while recorded matches waited for one in its game region", "unlimited", "recorded")
	flags.Float64Var(&f.accept, "accept-rate", 0,
		"The probability with which a ticket accepts a match; not set: the tickets that declined decline again")
	flags.StringSliceVar(&f.regions, "regions", nil,
		"The game regions that have servers; not set: those of the recorded matches")
	flags.StringVar(&f.report, "report", "", "Also write a page with plots to this file")
	_ = cmd.RegisterFlagCompletionFunc("name", p.completeProfiles())
	requireBetween(cmd, "accept-rate", &f.accept, 0, 1)
	checkFirst(cmd, func([]string) error {
		if err := f.check(); err != nil {
			return cli.Usage(err)
		}
		return nil
	})
	return p.onDatabase(cmd, byReplayed,
		func(ctx context.Context, op operator, _ []string) error { return p.runReplay(ctx, cmd, op, f) })
}

// check returns an error for flags that are missing or contradict each other.
func (f *replayFlags) check() error {
	switch {
	case f.profile == "" && f.name == "":
		return errors.New("--profile is missing, the file of the profile to try; or --name, a stored version of one")
	// The file has the rules; then --name only says whose tickets are replayed.
	case f.profile != "" && strings.Contains(f.name, "@"):
		return errors.New("--name must have no version when --profile names the rules to try")
	case f.from == "":
		return errors.New("--from is missing: a time such as 2026-01-05T18:00:00Z, or how long ago, such as 24h")
	}
	return nil
}

// runReplay reads the history in pages and writes nothing, so that it may run against a standby.
func (p *program) runReplay(ctx context.Context, cmd *cobra.Command, op operator, f replayFlags) error {
	rules, past, err := p.toReplay(ctx, op, f)
	if err != nil {
		return err
	}
	in, err := replayer.Input(ctx, op.store, past, rules,
		replayer.Recording{PlayerArg: op.conf.config.Server.PlayerArg, Privacy: op.conf.config.HistoryPrivacy})
	if err != nil {
		return err
	}
	// Read only if asked for: it is a second pass over the history.
	if f.capacity == "recorded" {
		if in.Capacity, err = replayer.Capacity(ctx, op.store, past, rules.Profile); err != nil {
			return err
		}
	}
	// 0 is a rate as well: without the flag, tickets decide as they did.
	if cmd.Flags().Changed("accept-rate") {
		in.Accept = replay.Accept{Drawn: true, Rate: f.accept}
	}
	// Without it the regions of the recorded matches, which replayer.Input has filled in.
	if cmd.Flags().Changed("regions") {
		in.Regions = f.regions
	}
	return p.printReplayed(ctx, "replaying", op.out, in, f.report)
}

// toReplay returns the rules to try, and the part of the history to try them on.
func (p *program) toReplay(ctx context.Context, op operator,
	f replayFlags) (rules decide.Version, past db.PastRange, err error) {
	// One moment for both ends, by the clock of the database, which wrote the history.
	now, err := op.store.DatabaseNow(ctx)
	if err != nil {
		return decide.Version{}, db.PastRange{}, err
	}
	past.Region = op.conf.config.Server.Universe
	var bad [2]error
	past.From, bad[0] = parseMoment("from", f.from, now)
	past.Until, bad[1] = parseMoment("to", f.until, now)
	if err := errors.Join(bad[:]...); err != nil {
		return rules, past, cli.Usage(err)
	}
	if !past.From.Before(past.Until) {
		return rules, past, cli.Usage(fmt.Errorf("--from %s must be before --to %s",
			past.From.UTC().Format(time.RFC3339), past.Until.UTC().Format(time.RFC3339)))
	}
	if f.profile == "" {
		rules, err = op.storedRules(ctx, f.name)
	} else {
		rules.Profile, err = p.profileToTry(f.profile)
	}
	if err != nil {
		return rules, past, err
	}
	if f.profile != "" && f.name != "" {
		// A copy with the name of another profile: its tickets are replayed with the rules of the file.
		renamed := *rules.Profile
		renamed.Name = f.name
		rules.Profile = &renamed
	}
	past.ProfileName = rules.Profile.Name
	return rules, past, nil
}

// storedRules reads a version of a profile, the live one by default.
func (op operator) storedRules(ctx context.Context, arg string) (decide.Version, error) {
	named, err := parseVersion(arg)
	if err != nil {
		return decide.Version{}, err
	}
	stored, err := op.store.Profile(ctx, op.conf.config.Server.Universe, named.name, named.number)
	if err != nil {
		return decide.Version{}, refusalText(err)
	}
	read, err := profile.ParseStored([]byte(stored.Document))
	if err != nil {
		return decide.Version{}, fmt.Errorf("%s@%d: %w", stored.Name, stored.Version, err)
	}
	return decide.Version{Profile: read, Number: stored.Version}, nil
}
