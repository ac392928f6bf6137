package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/lobby"
)

// ActInLobby runs an action in a room, in one transaction with the other actions that wait for rooms of the region. The
// actions of a replica in a room run in the order of their calls. An action that fails changes nothing. Errors: the
// action's [lobby.Error]; lobby.ErrNotFound for a room that does not exist, unless MakesRoom is set; Superseded if the
// session has another epoch, is suspended or has ended; Unavailable, in which case the action may or may not have been
// committed.
func (s *Store) ActInLobby(ctx context.Context, a LobbyAction) (LobbyAnswer, error) {
	return s.BeginInLobby(ctx, a)()
}

// BeginInLobby is ActInLobby in two steps, for a caller whose actions have an order: when it returns, the action has
// its place among those of the region. It does not block. wait returns the answer; call it once.
func (s *Store) BeginInLobby(ctx context.Context, a LobbyAction) (wait func() (LobbyAnswer, error)) {
	if !lobby.ValidID(a.RoomID) || !isStorable(a.ProjectID) {
		return func() (LobbyAnswer, error) { return LobbyAnswer{}, lobby.ErrNotFound }
	}
	return s.batchGroups.lobbyActions.Begin(ctx, a.Region, a)
}

type lobbyCall = batch.Call[LobbyAction, LobbyAnswer]

// lobbyBatch runs the actions of a region in one transaction. An action in a room that an older one of the batch has
// ended stays for the next batch.
func (s *Store) lobbyBatch(ctx context.Context, region string, calls []*lobbyCall) error {
	steps := make([]lobbyStep, len(calls))
	for i, c := range calls {
		steps[i].action = c.Req
	}
	var t *lobbyTurn
	err := lockingSessions(func(further []string) error {
		return s.frame.InTx(ctx, func(q *query.Queries) (err error) {
			t, err = s.actIn(ctx, q, region, steps, further)
			return err
		})
	})
	if err != nil {
		return lobbyError(err)
	}
	s.wakeReplicas(t)
	t.answerInvitations()
	t.answerCancels()
	for i, r := range t.stepResults {
		s.reportIfPanic(ctx, r.err)
		// An action behind the one that ended its room gets no answer, and so stays in the queue of the group. With the
		// next batch, it finds no room or makes one.
		if !errors.Is(r.err, errRoomEnds) {
			calls[i].Answer(r.answer, r.err)
		}
	}
	return nil
}

// lobbyError replaces violated constraints of a room by the errors that callers know. The group retries a batch with
// such an error in halves.
func lobbyError(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.ConstraintName {
	case "a_room_state_has_up_to_64_kib":
		return fmt.Errorf("%w: %w", lobby.ErrStateTooBig, err)
	case "a_room_has_up_to_its_members":
		return fmt.Errorf("%w: %w", lobby.ErrFull, err)
	case "a_code_names_one_room":
		return fmt.Errorf("%w: %w", lobby.ErrCodeTaken, err)
	}
	return err
}

// weight bounds a batch, and with it a row of a room's log, to about a mebibyte of what the actions carry.
func (a LobbyAction) weight() int { return 1 + a.RequestBytes/1024 }

func (a LobbyAction) bytes() int {
	return a.RequestBytes + textBytes(a.Region, a.ProjectID, a.Session.ID, a.RoomID)
}

// reportIfPanic logs and counts the panic of an action; it ignores other errors.
func (s *Store) reportIfPanic(ctx context.Context, err error) {
	p, ok := errors.AsType[*panics.Error](err)
	if !ok {
		return
	}
	s.cfg.Log.LogAttrs(ctx, slog.LevelError, "an action in a room panicked: its caller gets an internal error",
		p.Attrs()...)
	if s.cfg.Observer != nil {
		s.cfg.Observer.Panic("lobby")
	}
}
