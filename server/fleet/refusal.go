package fleet

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lattice-director/director/server/rest"
)

// noteTimeout bounds by how much the note delays the refusal (see rest.NoteRefusals).
const noteTimeout = time.Second

// noteRefusal stores why the server of a deployment may not register, since its log is at its provider. If that fails,
// the server registers again, and is refused again.
func (f face) noteRefusal(ctx context.Context, p rest.Problem) {
	deployment := deploymentOf(ctx)
	// Other game servers have no row to keep it in, and their operators can read their logs.
	if deployment == nil || isTransient(p) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_ = f.store.NoteRefusedRegistration(ctx, *deployment, refusalText(p))
}

// isTransient reports whether the same registration may succeed later. An operator has nothing to mend then, and a
// note would hide the one that names a real fault.
func isTransient(p rest.Problem) bool {
	return p.Code == "instance_taken" || p.Status >= http.StatusInternalServerError ||
		p.Status == http.StatusTooManyRequests || p.Status == http.StatusRequestTimeout
}

const maxRefusal = 500 // bytes

// refusalText returns a problem as a row can hold it: valid UTF-8 of at most maxRefusal bytes.
func refusalText(p rest.Problem) string {
	text := p.Code + ": " + p.Detail
	for _, e := range p.Errors {
		text += "; " + e.Field + " " + e.Detail
	}
	// Postgres stores neither invalid UTF-8 nor U+0000, and a field's name may be what the server sent. The cut may
	// split a character, so the end is made valid once more.
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxRefusal)], "")
}
