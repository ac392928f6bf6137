package optimum

import "math"

// none is no node and no vertex.
const none = -1

// edge joins a vertex of one node with a vertex of another. Weight 0: there is none.
type edge struct {
	source, target int
	weight         int64
}

// label says where a node is in the forest of alternating paths that grow from the vertices without a mate.
type label uint8

const (
	free  label = iota // in no tree
	outer              // at an even distance from a root
	inner              // at an odd distance
)

// graph is a graph and its matching. Nodes are vertices, below size, and blossoms, which contain nodes.
type graph struct {
	size    int
	edges   [][]edge // by two nodes: the one with the least slack of those that join them
	dual    []int64
	mate    []int // by node: the vertex at the other end of its matched edge
	top     []int // by node: the outermost node that contains it; none: an unused blossom
	parent  []int // by inner node: the outer vertex that it was reached from
	nearest []int // by node: the outer vertex whose edge to it has the least slack
	labels  []label
	members [][]int // by blossom: its nodes, in the order of the cycle, that with the mate outside first
	holder  [][]int // by node and vertex: the member that contains the vertex
	pending []int   // outer vertices whose edges have not been looked at
	visits  []int   // by node: the latest search for a common root that passed it
	visit   int
}

func newGraph(size int) *graph {
	// Blossoms are odd cycles of three or more nodes, one within the other or apart: half as many as vertices
	// suffice.
	nodes := size + size/2 + 1
	g := &graph{
		size: size, edges: make([][]edge, nodes), dual: make([]int64, nodes), mate: make([]int, nodes),
		top:    make([]int, nodes),
		parent: make([]int, nodes), nearest: make([]int, nodes), labels: make([]label, nodes),
		members: make([][]int, nodes),
		holder:  make([][]int, nodes), visits: make([]int, nodes),
	}
	for node := range nodes {
		g.edges[node], g.holder[node] = make([]edge, nodes), make([]int, size)
		g.mate[node], g.top[node] = none, none
		for vertex := range size {
			g.holder[node][vertex] = none
		}
		if node < size {
			g.top[node], g.holder[node][node] = node, node
		}
	}
	return g
}

// connect adds an edge; its weight is positive.
func (g *graph) connect(i, j int, weight int64) {
	g.edges[i][j], g.edges[j][i] = edge{i, j, weight}, edge{j, i, weight}
}

// match returns the mate of each vertex in a matching of the greatest weight, or none.
func (g *graph) match() []int {
	highest := int64(0)
	for i := range g.size {
		for j := range g.size {
			highest = max(highest, g.edges[i][j].weight)
		}
	}
	for i := range g.size {
		// No edge has a negative slack at the beginning, as the algorithm wants it.
		g.dual[i] = highest
	}
	for g.phase() {
	}
	return g.mate[:g.size]
}

// slack is how far an edge is from being allowed in the matching; 0: it is.
func (g *graph) slack(e edge) int64 { return g.dual[e.source] + g.dual[e.target] - 2*e.weight }

// phase grows trees from all vertices without a mate until a path between two of them adds a pair. It returns false if
// no further pair makes the matching better.
func (g *graph) phase() bool {
	g.pending = g.pending[:0]
	for node, top := range g.top {
		g.labels[node], g.nearest[node] = free, none
		if top == node && g.mate[node] == none {
			g.parent[node] = none
			g.becomeOuter(node)
		}
	}
	if len(g.pending) == 0 {
		return false
	}
	for !g.grow() {
		if !g.adjust() {
			return false
		}
		if g.growAlongTight() {
			return true
		}
		g.expandSpent()
	}
	return true
}

// becomeOuter makes all vertices of a node outer.
func (g *graph) becomeOuter(node int) {
	g.labels[node] = outer
	g.pend(node)
}

func (g *graph) pend(node int) {
	if node < g.size {
		g.pending = append(g.pending, node)
		return
	}
	for _, member := range g.members[node] {
		g.pend(member)
	}
}

// grow looks at the edges of all outer vertices. It reports whether a pair was added.
func (g *graph) grow() bool {
	for len(g.pending) > 0 {
		from := g.pending[0]
		g.pending = g.pending[1:]
		if g.labels[g.top[from]] == inner {
			continue
		}
		for to := range g.size {
			e := g.edges[from][to]
			if e.weight == 0 || g.top[from] == g.top[to] {
				continue
			}
			if g.slack(e) > 0 {
				g.comeNear(from, g.top[to])
			} else if g.follow(e) {
				return true
			}
		}
	}
	return false
}

// comeNear remembers an outer vertex if none is nearer to a node.
func (g *graph) comeNear(from, node int) {
	if old := g.nearest[node]; old == none || g.slack(g.edges[from][node]) < g.slack(g.edges[old][node]) {
		g.nearest[node] = from
	}
}

func (g *graph) findNearest(node int) {
	g.nearest[node] = none
	for from := range g.size {
		if g.edges[from][node].weight > 0 && g.top[from] != node && g.labels[g.top[from]] == outer {
			g.comeNear(from, node)
		}
	}
}

// adjust changes the dual variables by as much as makes an edge tight or a blossom expandable. It returns false if the
// vertices without a mate cost nothing any more: then the matching has the greatest weight.
func (g *graph) adjust() bool {
	by := g.step()
	for vertex := range g.size {
		switch g.labels[g.top[vertex]] {
		case outer:
			if g.dual[vertex] <= by {
				return false
			}
			g.dual[vertex] -= by
		case inner:
			g.dual[vertex] += by
		case free:
		}
	}
	for b := g.size; b < len(g.top); b++ {
		if g.top[b] != b {
			continue
		}
		switch g.labels[b] {
		case outer:
			g.dual[b] += 2 * by
		case inner:
			g.dual[b] -= 2 * by
		case free:
		}
	}
	return true
}

func (g *graph) step() int64 {
	by := int64(math.MaxInt64)
	for node, top := range g.top {
		if top != node {
			continue
		}
		if node >= g.size && g.labels[node] == inner {
			by = min(by, g.dual[node]/2)
		}
		if from := g.nearest[node]; from != none {
			switch slack := g.slack(g.edges[from][node]); g.labels[node] {
			case free:
				by = min(by, slack)
			case outer:
				// Both ends come nearer, so half of the slack is enough. It is even: the dual variables of all outer
				// vertices are either even or odd.
				by = min(by, slack/2)
			case inner:
			}
		}
	}
	return by
}

// growAlongTight follows the edges that adjust made tight. It reports whether a pair was added.
func (g *graph) growAlongTight() bool {
	for node := range g.top {
		from := g.nearest[node]
		if g.top[node] != node || from == none || g.top[from] == node {
			continue
		}
		if e := g.edges[from][node]; g.slack(e) == 0 && g.follow(e) {
			return true
		}
	}
	return false
}

// follow adds a tight edge of an outer vertex to the forest. It reports whether a pair was added.
func (g *graph) follow(e edge) bool {
	from, to := g.top[e.source], g.top[e.target]
	switch g.labels[to] {
	case free:
		g.parent[to], g.labels[to] = e.source, inner
		next := g.top[g.mate[to]]
		g.nearest[to], g.nearest[next] = none, none
		g.becomeOuter(next)
	case outer:
		root := g.meet(from, to)
		if root == none {
			g.flip(from, to)
			g.flip(to, from)
			return true
		}
		g.shrink(from, root, to)
	case inner:
	}
	return false
}

// above returns the outer node that an outer node was reached from, two edges nearer to the root; none: it is the root.
func (g *graph) above(node int) int {
	if g.mate[node] == none {
		return none
	}
	return g.top[g.parent[g.top[g.mate[node]]]]
}

// meet returns the outer node at which the paths of two outer nodes to their roots meet; none: they are in different
// trees.
func (g *graph) meet(a, b int) int {
	g.visit++
	for a != none || b != none {
		if a != none {
			if g.visits[a] == g.visit {
				return a
			}
			g.visits[a] = g.visit
			a = g.above(a)
		}
		// In turn on both paths, so that the search ends soon after they meet.
		a, b = b, a
	}
	return none
}

// flip gives an outer node a new mate, and changes all pairs on its path to the root.
func (g *graph) flip(node, mate int) {
	for {
		former := none
		if g.mate[node] != none {
			former = g.top[g.mate[node]]
		}
		g.marry(node, mate)
		if former == none {
			return
		}
		next := g.top[g.parent[former]]
		g.marry(former, next)
		node, mate = next, former
	}
}
