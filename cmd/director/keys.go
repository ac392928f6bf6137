package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/keymint"
)

func (p *program) keysCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "keys",
		Short: "List, rotate and taint the keys that sign session tokens",
		Long: "The keys that sign session tokens are in the database, with encrypted private parts. Workers rotate them automatically:\n" +
			"there is always one that signs, and a next one that is already published to verifiers.",
		Example: "  director keys list\n  director keys rotate --force\n  director keys taint 3q2-7wSxF0",
	}, p.keysList(), p.keysRotate(), p.keysTaint())
}

func (p *program) keysList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the signing keys and their states",
		Long: "Lists the signing keys: next (signs later), signing, retiring (its tokens may still be valid), expired, tainted.\n" +
			"Sealed by names the key-encryption key that encrypts it: a key-encryption key that no row names can be retired.",
		Example: "  director keys list\n  director keys list --all\n  director keys list -o json | jq -r '.[] | select(.state == \"signing\") | .kid'",
		Args:    cli.Exactly(0),
	}
	all := cmd.Flags().Bool("all", false,
		"Also those that are expired, and those that were tainted more than a day ago")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// In the order in which they sign: the next key is the last row.
		return printView(ctx, op, opsview.Keys, opsview.KeyFilter{Useful: !*all},
			opsview.Page{Order: opsview.ByTurn}, table[opsview.Key]{
				titles: []string{
					"kid", "alg", "state", "sign from", "sign until", "verify until", "tainted at", "sealed by",
				},
				spareTitles: []string{"alg", "tainted at", "sealed by", "verify until"},
				rowCells: func(k opsview.Key) []any {
					return []any{k.KID, k.Alg, k.State, k.SignFrom, k.SignUntil, k.VerifyUntil, k.TaintedAt, k.SealedBy}
				},
			})
	})
}

// newKeyLine is the output of `keys rotate` for a new key.
type newKeyLine struct {
	KID       string    `json:"kid"`
	Alg       string    `json:"alg"`
	SignFrom  time.Time `json:"sign_from"`
	SignUntil time.Time `json:"sign_until"`
}

func (p *program) keysRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Create the signing keys that are due; with --force switch to the next key early",
		Long: "Creates the keys that are due, as a worker does: the first one, and always a next one. Usually none is due.\n" +
			"With --force the next key signs as soon as all verifiers can know it, and a further next key is created. Tokens of the\n" +
			"old key remain valid; if it may have leaked, taint it instead. A new key is published for as long as the settings say, and\n" +
			"no shorter than those that are there.",
		Example: "  director keys rotate\n  director keys rotate --force",
		Args:    cli.Exactly(0),
	}
	force := cmd.Flags().Bool("force", false, "Do not wait until the signing key's period is over")
	// byKeys: the schedule of the keys, which should be that of the workers.
	return p.onDatabase(cmd, byOperator|byKeys, func(ctx context.Context, op operator, _ []string) error {
		// Private keys are stored encrypted, so that making one needs the key-encryption key of the workers.
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return err
		}
		policy, err := op.keyPolicy(ctx)
		if err != nil {
			return err
		}
		made, err := op.store.As("").RotateKeys(ctx, db.SigningKeyRotation{Policy: policy,
			Mint: keymint.With(sealer, op.conf.config.Worker.Alg), Force: *force})
		if err != nil {
			return err
		}
		// As JSON also an empty list, for scripts.
		if len(made) > 0 || op.out.JSON {
			return writeNewKeys(op.out, made)
		}
		if *force {
			// No key was made, since the next one is there. It may sign earlier than before.
			return op.printNextKey(ctx)
		}
		fmt.Fprintln(op.out.Writer, "No key is due: a key signs and the next one is published. See 'director keys list'. Use --force to switch now.")
		return nil
	})
}

// keyPolicy is that of the settings, with the greatest lead and overlap of the published keys at least: where an
// operator lacks the workers' settings, a key would sign before verifiers know it, or leave the JWKS before its tokens
// expire.
func (op operator) keyPolicy(ctx context.Context) (db.KeyPolicy, error) {
	policy := op.conf.config.keySchedule().Policy()
	keys, _, err := op.store.Keys(ctx)
	if err != nil {
		return policy, err
	}
	for _, k := range keys {
		policy.Lead, policy.Overlap = max(policy.Lead, k.Lead), max(policy.Overlap, k.Overlap)
	}
	return policy, nil
}

// printNextKey prints from when the next key signs.
func (op operator) printNextKey(ctx context.Context) error {
	// By the clock of the database, which decides when a key signs.
	keys, now, err := op.store.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.SignFrom.After(now) {
			fmt.Fprintf(op.out.Writer, "%s signs from %s, as soon as all verifiers can know it.\n", k.Material.KID,
				k.SignFrom.Format(time.RFC3339))
		}
	}
	return nil
}

// writeNewKeys prints new keys without their private parts, which no command shows.
func writeNewKeys(out cli.Output, made []db.SigningKey) error {
	lines := make([]newKeyLine, len(made))
	for i, k := range made {
		lines[i] = newKeyLine{k.Material.KID, k.Material.Alg, k.SignFrom, k.SignUntil}
	}
	return cli.Write(out, lines, []string{"made", "alg", "sign from", "sign until"}, func(m newKeyLine) []any {
		return []any{m.KID, m.Alg, m.SignFrom, m.SignUntil}
	})
}

func (p *program) keysTaint() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "taint KID",
		Short: "Stop using a signing key at once, because it may have leaked",
		Long: "Removes the key from the JWKS at once; it never signs again. The next key, which is already published, replaces it as soon\n" +
			"as all verifiers can know it. Until then, a replica or worker creates a key that signs at once. Game servers refuse the\n" +
			"tainted key's tokens once their copy of the key set is older than its max-age; the players then resolve again.",
		Example:           "  director keys taint 3q2-7wSxF0\n  director keys taint -- -q2w7wSxF0   # one that begins with a dash",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(wordsOf(opsview.Keys, opsview.KeyFilter{Untainted: true}, "kid")),
	}, byOperator, func(ctx context.Context, op operator, args []string) error {
		// Without a confirmation: a leaked key is to go at once, and a replica or worker makes another.
		changed, err := op.store.As("").TaintKey(ctx, args[0])
		if err != nil {
			return err
		}
		return writeChanges(op.out, "kid", []changeLine{{args[0], changed}})
	})
}
