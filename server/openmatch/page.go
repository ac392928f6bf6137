package openmatch

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// pages are messages of a query's answer, each a repeated field of number 1, bounded by count and by bytes.
type pages struct {
	most  int // items of a page
	bytes int // of a page, unless it has one item only

	done  [][]byte
	page  []byte
	items int
}

func (p *pages) add(item []byte) {
	const tag = 1
	need := protowire.SizeTag(tag) + protowire.SizeBytes(len(item))
	if p.items == p.most || p.items > 0 && len(p.page)+need > p.bytes {
		p.turn()
	}
	p.page = protowire.AppendBytes(protowire.AppendTag(p.page, tag, protowire.BytesType), item)
	p.items++
}

func (p *pages) turn() {
	p.done = append(p.done, p.page)
	p.page, p.items = nil, 0
}

// all gives the pages; there is none where there was nothing to add.
func (p *pages) all() [][]byte {
	if p.items > 0 {
		p.turn()
	}
	return p.done
}
