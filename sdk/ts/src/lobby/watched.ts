/** A list that the director keeps up to date for one connection: the client asks for it again on the next one. */
export class Watched<Item> {
  private readonly items = new Map<string, Item>();
  /** What changed before the list was there; undefined: it is. */
  private early: Record<string, unknown>[] | undefined;

  constructor(
    /** The request that begins it, and its body. */
    readonly type: string,
    readonly p: object,
    private readonly field: 'rooms' | 'players',
    private readonly id: (item: Item) => string,
    private readonly show: (items: Item[]) => void,
  ) {}

  /** The list is asked for: what changes until the answer is taken waits for it. Both may arrive in one piece. */
  restart(): void {
    this.early = [];
  }

  /** Takes the whole list. */
  begin(answer: Record<string, unknown>): void {
    this.items.clear();
    for (const p of [answer, ...(this.early ?? [])]) this.merge(p);
    this.early = undefined;
    this.show([...this.items.values()]);
  }

  /** Takes what has changed. */
  take(p: Record<string, unknown>): void {
    if (this.early) return void this.early.push(p);
    this.merge(p);
    this.show([...this.items.values()]);
  }

  private merge(p: Record<string, unknown>): void {
    for (const item of (p[this.field] ?? []) as Item[]) this.items.set(this.id(item), item);
    for (const id of (p['removed'] ?? []) as string[]) this.items.delete(id);
  }
}
