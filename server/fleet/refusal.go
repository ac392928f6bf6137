package fleet

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lattice-director/director/server/rest"
)

// noteTimeout bounds how long the answer to the next request of a connection waits for the note.
const noteTimeout = time.Second

// noteRefusal keeps why the server of a deployment may not register, since its log is at its provider. It drops the
// error: the server registers again, and is refused again. An instance_taken is part of a restart.
func (f face) noteRefusal(ctx context.Context, p rest.Problem) {
	of := deploymentOf(ctx)
	// What passes by itself is no reason to show to an operator.
	if of == nil || p.Code == "instance_taken" || p.Status >= http.StatusInternalServerError ||
		p.Status == http.StatusTooManyRequests || p.Status == http.StatusRequestTimeout {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_ = f.store.NoteRefusedRegistration(ctx, *of, refusalText(p))
}

const maxRefusal = 500 // bytes

func refusalText(p rest.Problem) string {
	text := p.Code + ": " + p.Detail
	for _, e := range p.Errors {
		text += "; " + e.Field + " " + e.Detail
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxRefusal)], "")
}
