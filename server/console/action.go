package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// action is something that an operator may do. GET asks, POST does it.
type action struct {
	routePath string
	// askFirst says what would happen. It is also called before do, whose question it must be.
	askFirst func(ctx context.Context, s Store, q query) (question, error)
	// do does it, and returns a sentence that says what it did. Doing it twice must do no more than doing it once.
	do func(ctx context.Context, s Store, q query, d deed) (string, error)
}

// question is the page that asks before an action.
type question struct {
	Title  string   // as in: Drain eu-1?
	Says   []string // what would happen, a sentence each
	Button string   // as in: Drain
	Danger bool     // cannot be undone
	Back   string   // the path to go to afterwards
	Reason bool     // whether a reason is required: the event has it
	// NoReason says that no reason is asked for, because no event would have it.
	NoReason bool
	Fields   []field // further fields of the form
}

// field is a further field of the form of an action.
type field struct {
	Name, Label, Value, Help string
	Number, Hidden           bool
}

// deed is who does something, and why.
type deed struct {
	Actor, Reason string
	Values        map[string]string // of the fields
}

// actionView is what templates/confirm.html reads.
type actionView struct {
	Question question

	Path, Error, Given string // Given is the reason that was sent
}

func (c *Console) addAction(r gin.IRoutes, gate *rest.Gate, a action) {
	r.GET(a.routePath, onlyOperators, gate.Enter, func(g *gin.Context) { c.askAction(g, a) })
	r.POST(a.routePath, onlyOperators, gate.Enter, func(g *gin.Context) { c.performAction(g, a) })
}

// onlyOperators is the middleware that refuses viewers.
func onlyOperators(g *gin.Context) {
	if sessionOf(g).Viewer {
		rest.Fail(g, &rest.Problem{Status: http.StatusForbidden, Code: "forbidden", Title: "Only operators may do this",
			Detail: "You are logged in as a viewer."})
	}
}

func (c *Console) askAction(g *gin.Context, a action) {
	q := queryOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	asked, err := a.askFirst(ctx, c.options.Store, q)
	if err != nil {
		c.failPage(g, err)
		return
	}
	c.writeTemplate(g, http.StatusOK, c.templates.pagesByName["confirm"],
		c.viewOf(g, q, actionView{Question: asked, Path: q.URL()}))
}

func (c *Console) performAction(g *gin.Context, a action) {
	s, q := sessionOf(g), queryOf(g)
	if !checkForm(g, s) {
		return
	}
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	// Asked again, and not taken from the form: which fields there are and whether a reason is required is not the
	// browser's to say.
	asked, err := a.askFirst(ctx, c.options.Store, q)
	if err != nil {
		c.failPage(g, err)
		return
	}
	d := deed{s.Name, strings.TrimSpace(g.PostForm("reason")), map[string]string{}}
	for i := range asked.Fields {
		asked.Fields[i].Value = strings.TrimSpace(g.PostForm(asked.Fields[i].Name))
		d.Values[asked.Fields[i].Name] = asked.Fields[i].Value
	}
	problem := checkReason(d.Reason, asked.Reason)
	done := ""
	if problem == "" {
		done, err = a.do(ctx, c.options.Store, q, d)
		problem = refusalText(err)
	}
	switch {
	case problem != "":
		// With what was typed, so that nobody has to write the reason again.
		c.writeTemplate(g, http.StatusUnprocessableEntity, c.templates.pagesByName["confirm"],
			c.viewOf(g, q, actionView{asked, q.URL(), problem, d.Reason}))
	case err != nil:
		c.failPage(g, err)
	default:
		c.leaveNotice(g, done)
		g.Redirect(http.StatusSeeOther, asked.Back)
	}
}

// checkReason returns what is wrong with a reason, or "".
func checkReason(reason string, required bool) string {
	switch {
	case required && reason == "":
		return "Say why: events show the reason beside your name."
	case utf8.RuneCountInString(reason) > db.MaxReason:
		return "The reason must have at most 500 characters."
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return "The reason must have no control characters."
	}
	return ""
}

// refusalText returns why the store refuses an action, "" if it does not.
func refusalText(err error) string {
	var stored *fault.Error
	if errors.As(err, &stored) && (stored.Kind == fault.Conflict || stored.Kind == fault.Invalid ||
		stored.Kind == fault.Gone) {
		return stored.Detail
	}
	return ""
}
