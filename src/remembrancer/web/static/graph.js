// Draws the graph of a page from its table, with d3. Without scripts the table says the same.
"use strict";
{
  const frame = document.querySelector("[data-graph]");
  if (frame && window.d3) draw(frame);
  else for (const part of document.querySelectorAll("[data-graph], .keys")) part.remove();

  function draw(frame) {
    const d3 = window.d3;
    const part = (name) => frame.querySelector(`[data-${name}]`);
    const rows = document.querySelector("[data-edges]");
    const find = document.querySelector("[data-find]");
    const count = document.querySelector("[data-count]");
    const counted = count?.cloneNode(true).childNodes || [];
    const most = 300; // more cannot be told apart
    const height = 17, longest = frame.clientWidth < 600 ? 18 : 30; // of a label, in pixels and letters
    const nodes = new Map(), edges = new Map();
    let chosen = null, over = null, words = "";

    // From rows of the table: memories, each once, and what is between them.
    function read(from) {
      const added = [];
      for (const row of from) {
        const ends = [...row.querySelectorAll("[data-node]")];
        const key = [ends[0].dataset.node, row.dataset.edge, ends[1].dataset.node].join(" ");
        const fresh = new Set(ends.map((end) => end.dataset.node).filter((one) => !nodes.has(one)));
        if (edges.has(key) || nodes.size + fresh.size > most) continue;
        const [source, target] = ends.map(nodeOf);
        const name = row.querySelector("[data-name]").textContent;
        edges.set(key, { key, source, target, name, to: row.dataset.to, strength: Number(row.dataset.strength) });
        added.push(row);
      }
      for (const one of nodes.values()) one.edges = [];
      for (const edge of edges.values()) for (const end of [edge.source, edge.target]) end.edges.push(edge);
      // Several between the same two lie side by side, whichever way they lead.
      for (const [, same] of d3.group(edges.values(), (edge) => [edge.source.key, edge.target.key].sort().join(" "))) {
        same.forEach((edge, n) => {
          const side = edge.source.key < edge.target.key ? 1 : -1;
          edge.bow = side * 30 * (n - (same.length - 1) / 2);
        });
      }
      return added;
    }

    function nodeOf(end) {
      const { node: key, id, category, size } = end.dataset;
      if (!nodes.has(key)) {
        const link = end.querySelector("a");
        const kind = [...end.classList].find((name) => name.startsWith("c-"));
        const radius = 7 + 8 * Number(size);
        nodes.set(key, { key, id, category, kind, radius, text: link.textContent, href: link.href, isMiddle: "middle" in end.dataset });
      }
      return nodes.get(key);
    }

    const otherEnd = (edge, one) => (edge.source === one ? edge.target : edge.source);
    const nearTo = (one) => new Set([one, ...one.edges.map((edge) => otherEnd(edge, one))]);
    const shortened = (text) => (text.length > longest ? `${text.slice(0, longest - 1).trimEnd()}…` : text);

    // Places. What was there stays where it was.
    function settle(start) {
      const all = [...nodes.values()];
      for (const one of all) {
        if (one.isMiddle || (start && one.x !== undefined && one.edges.length)) [one.fx, one.fy] = [one.x || 0, one.y || 0];
        else if (start && one.x === undefined) [one.x, one.y] = [start.x + Math.random() * 60 - 30, start.y + Math.random() * 60 - 30];
      }
      const wide = size().width / Math.max(size().height, 1);
      d3.forceSimulation(all)
        .force("edges", d3.forceLink([...edges.values()]).distance(130).strength(0.5))
        .force("apart", d3.forceManyBody().strength(-520).distanceMax(900))
        .force("room", d3.forceCollide((one) => one.radius + 40))
        .force("x", d3.forceX(0).strength(0.05))
        .force("y", d3.forceY(0).strength(0.05 * Math.min(wide, 2.5)))
        .stop()
        .tick(260);
      for (const one of all) if (!one.isMiddle) one.fx = one.fy = null;
      for (const edge of edges.values()) route(edge);
    }

    // A line is straight, unless it would go through a memory that it does not lead to.
    function route(edge) {
      const bows = d3.range(0, 280, 12).flatMap((more) => [edge.bow + more, edge.bow - more]);
      edge.bent = bows.find((bow) => isClear(edge, curve(edge, bow))) ?? edge.bow;
    }

    function curve({ source, target }, bow) {
      const dx = target.x - source.x, dy = target.y - source.y, length = Math.hypot(dx, dy) || 1;
      const at = (by) => [(source.x + target.x) / 2 - (dy / length) * by, (source.y + target.y) / 2 + (dx / length) * by];
      const bend = at(2 * bow);
      return { bend, middle: at(bow), first: rim(source, bend, source.radius * grown), last: rim(target, bend, target.radius * grown + 5) };
    }

    function rim(one, [x, y], away) {
      const length = Math.hypot(x - one.x, y - one.y) || 1;
      return [one.x + ((x - one.x) / length) * away, one.y + ((y - one.y) / length) * away];
    }

    function isClear(edge, { bend }) {
      const { source, target } = edge;
      const [left, right] = d3.extent([source.x, target.x, bend[0]]), [top, bottom] = d3.extent([source.y, target.y, bend[1]]);
      const inside = (one, room) => one.x > left - room && one.x < right + room && one.y > top - room && one.y < bottom + room;
      const others = [...nodes.values()].filter((one) => one !== source && one !== target && inside(one, one.radius + 5));
      return !others.length || points(edge, bend).every(([x, y]) => others.every((one) => Math.hypot(one.x - x, one.y - y) >= one.radius + 5));
    }

    function points({ source, target }, bend) {
      const steps = Math.ceil(Math.hypot(target.x - source.x, target.y - source.y) / 6) + 2;
      return d3.range(1, steps).map((step) => {
        const t = step / steps, u = 1 - t;
        return [u * u * source.x + 2 * u * t * bend[0] + t * t * target.x, u * u * source.y + 2 * u * t * bend[1] + t * t * target.y];
      });
    }

    // Elements.
    const svg = d3.select(part("picture")), view = d3.select(part("view"));
    let dots = d3.select(part("dots")).selectAll("g"), lines = d3.select(part("lines")).selectAll("g");
    const size = () => svg.node().getBoundingClientRect();
    const byHeight = d3.bisector((point) => point[1]).left;
    let scale = 1, grown = 1, lined = [], isEntered = false; // dots grow as all shrinks, to be seen and hit

    function render() {
      lines = lines.data([...edges.values()], (edge) => edge.key).join((enter) => {
        const line = enter.append("g").attr("class", "edge");
        line.append("path").attr("marker-end", "url(#arrow)").attr("stroke-width", (edge) => 0.75 + 1.5 * edge.strength);
        line.append("text").text((edge) => edge.name);
        return line;
      });
      dots = dots.data([...nodes.values()], (one) => one.key).join((enter) => {
        const dot = enter.append("g").attr("class", (one) => `dot ${one.kind}${one.isMiddle ? " middle" : ""}`);
        dot.attr("role", "button").attr("tabindex", -1).attr("data-key", (one) => one.key);
        dot.append("circle").attr("class", "hit");
        dot.append("circle").attr("class", "body");
        dot.append("text").text((one) => shortened(one.text));
        dot.on("click", (_, one) => choose(one === chosen ? null : one));
        dot.on("focus pointerenter", (event, one) => { over = one; if (event.type === "focus") stopAt(one); place(); });
        dot.on("blur pointerleave", () => { over = null; place(); });
        return dot.call(d3.drag().on("drag", dragged));
      });
      dots.attr("aria-label", (one) => `${one.text} ${one.category}, ${one.edges.length === 1 ? "1 association" : `${one.edges.length} associations`}`);
      view.style("--zoom", 1);
      dots.select("text").each(function (one) { one.wide = this.getComputedTextLength() + 4; });
      lines.select("text").each(function (edge) { edge.wide = this.getComputedTextLength() + 4; });
      view.style("--zoom", scale);
      if (!dots.filter('[tabindex="0"]').size()) stopAt(chosen || [...nodes.values()].find((one) => one.isMiddle) || d3.greatest(nodes.values(), (one) => one.edges.length));
      move();
    }

    function move() {
      for (const edge of edges.values()) Object.assign(edge, curve(edge, edge.bent));
      lined = d3.sort([...edges.values()].flatMap((edge) => points(edge, edge.bend)), (point) => point[1]);
      dots.selectAll("circle").attr("cx", (one) => one.x).attr("cy", (one) => one.y);
      dots.select(".body").attr("r", (one) => one.radius * grown);
      dots.select(".hit").attr("r", (one) => Math.max(one.radius * grown, 12 / scale));
      svg.select("marker").attr("markerWidth", 10 * grown).attr("markerHeight", 10 * grown);
      lines.select("path").attr("d", ({ first, bend, last }) => `M${first}Q${bend} ${last}`);
      place();
    }

    function dragged(event, one) {
      [one.x, one.y] = [event.x, event.y];
      for (const edge of edges.values()) route(edge);
      move();
    }

    // Labels: those that fit beside what is there, the nearest to the person's interest first, each where the fewest lines are.
    function place() {
      const round = over || chosen, around = round ? nearTo(round) : new Set();
      const rank = (one) => (one === over ? 4e6 : one === chosen ? 3e6 : matches(one) ? 2e6 : around.has(one) ? 1e6 : 0) + one.edges.length;
      const { x, y } = d3.zoomTransform(svg.node()), whole = size(), high = height / scale;
      const inView = ({ left, top, right, bottom }) => [(left - whole.left - x) / scale, (top - whole.top - y) / scale, (right - whole.left - x) / scale, (bottom - whole.top - y) / scale];
      const shown = inView(whole);
      const taken = [...frame.querySelectorAll("[role=toolbar], [data-one]:not([hidden])")].map((cover) => inView(cover.getBoundingClientRect()));
      for (const one of nodes.values()) {
        const radius = one.radius * grown;
        taken.push([one.x - radius, one.y - radius, one.x + radius, one.y + radius, one]);
      }
      const isIn = (box) => box[0] >= shown[0] && box[1] >= shown[1] && box[2] <= shown[2] && box[3] <= shown[3];
      // Labels around the chosen memory may cover the dim ones.
      const near = chosen ? nearTo(chosen) : new Set();
      const free = (box, own) => taken.every(([left, top, right, bottom, of]) => of === own || (of && near.has(own) && !near.has(of)) || box[2] <= left || box[0] >= right || box[3] <= top || box[1] >= bottom);
      const crossed = (box) => lined.slice(byHeight(lined, box[1]), byHeight(lined, box[3])).filter((point) => point[0] > box[0] && point[0] < box[2]).length;
      for (const one of d3.sort(nodes.values(), (one) => -rank(one))) {
        const wide = one.wide / scale, gap = one.radius * grown + 3 / scale;
        // Below and above, in the middle or to a side; inside of the picture.
        const lefts = [0.5, 0.1, 0.9].map((part) => Math.min(Math.max(one.x - part * wide, shown[0]), shown[2] - wide));
        const spots = [...lefts.flatMap((left) => [[left, one.y + gap], [left, one.y - gap - high]]), [one.x + gap, one.y - high / 2], [one.x - gap - wide, one.y - high / 2]];
        const boxes = spots.map(([x, y]) => [x, y, x + wide, y + high]);
        one.label = isIn([one.x, one.y, one.x, one.y]) && (d3.least(boxes.filter((box) => isIn(box) && free(box, one)), crossed) || (one === over && boxes[0]));
        if (one.label) taken.push(one.label);
      }
      const isNear = (edge) => round && (edge.source === round || edge.target === round);
      for (const edge of d3.sort(edges.values(), (edge) => -edge.strength - (isNear(edge) ? 2 : 0))) {
        const wide = edge.wide / scale, [x, y] = edge.middle;
        const box = [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2];
        edge.label = isIn(box) && free(box, edge) ? box : null;
        if (edge.label) taken.push(box);
      }
      for (const all of [dots, lines]) {
        all.select("text").classed("hides", (one) => !one.label)
          .attr("x", (one) => (one.label ? (one.label[0] + one.label[2]) / 2 : 0))
          .attr("y", (one) => (one.label ? one.label[3] - (4.5 / scale) : 0));
      }
      const dim = (one) => (words && !matches(one)) || (chosen && !near.has(one));
      dots.classed("dim", dim).classed("match", matches);
      lines.classed("dim", (edge) => (chosen ? edge.source !== chosen && edge.target !== chosen : dim(edge.source) && dim(edge.target)));
    }

    function matches(one) {
      return words !== "" && words.split(/\s+/).every((word) => one.text.toLocaleLowerCase().includes(word));
    }

    // Which memory Tab comes to.
    function stopAt(one) {
      dots.attr("tabindex", (each) => (each === one ? 0 : -1));
    }

    function goTo(one) {
      stopAt(one);
      const { x, y, k } = d3.zoomTransform(svg.node());
      const [left, top] = [one.x * k + x, one.y * k + y];
      if (left < 40 || top < 40 || left > size().width - 40 || top > size().height - 40) svg.call(zoom.translateTo, one.x, one.y);
      dots.filter((each) => each === one).node().focus();
    }

    // One memory, in words: its text, what it stands to, and where to go on.
    function choose(one) {
      chosen = one;
      const box = part("one");
      box.hidden = !one;
      dots.attr("aria-pressed", (each) => each === one);
      if (!one) return place();
      stopAt(one);
      part("text").textContent = one.text;
      part("category").textContent = one.category;
      part("category").parentElement.className = `meta ${one.kind}`;
      part("memory").href = `${frame.dataset.graph}/memories/${one.id}`;
      part("said").textContent = "";
      part("near").replaceChildren(...one.edges.map((edge) => {
        const item = document.createElement("li"), name = document.createElement("span"), button = document.createElement("button");
        name.textContent = edge.source === one ? say("It %(relation)s", { relation: edge.name }) : edge.to;
        name.className = "by";
        button.type = "button";
        button.className = "quiet";
        button.textContent = otherEnd(edge, one).text;
        button.addEventListener("click", () => { choose(otherEnd(edge, one)); goTo(otherEnd(edge, one)); });
        item.append(name, button);
        return item;
      }));
      box.scrollIntoView({ block: "nearest" });
      uncover(one);
      place();
    }

    // Move the picture from under the box: the memory, and its neighbours if there is room.
    function uncover(one) {
      const whole = size(), cover = part("one").getBoundingClientRect();
      if (cover.top >= whole.bottom) return;
      const { x, k } = d3.zoomTransform(svg.node()), room = cover.left - whole.left - 60;
      const [left, right] = d3.extent(nearTo(one), (each) => each.x * k + x);
      const by = Math.max(Math.min(right - room, left - 60), one.x * k + x - room);
      if (by > 0) svg.call(zoom.translateBy, -by / k, 0);
    }

    async function add() {
      const one = chosen, said = part("said");
      said.textContent = say("Looking…");
      try {
        const answer = await fetch(`${one.href}?depth=1`, { headers: { Accept: "text/html" } });
        if (!answer.ok) throw new Error(answer.status);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const found = [...page.querySelectorAll("[data-edge]")];
        for (const end of page.querySelectorAll("[data-middle]")) delete end.dataset.middle;
        const before = nodes.size, added = read(found);
        rows.append(...added.map((row) => document.importNode(row, true)));
        settle(one);
        render();
        choose(one);
        const more = nodes.size - before;
        said.textContent = nodes.size >= most ? say("The picture is full.") : more ? say("%(count)s added.", { count: more }) : say("All its neighbours are in the picture.");
      } catch {
        said.textContent = say("The server does not answer. Try again.");
      }
    }

    // Zoom: by the wheel once the picture was pressed or has the focus, so that a page scrolls past it.
    frame.addEventListener("pointerdown", () => { isEntered = true; });
    frame.addEventListener("pointerleave", () => { isEntered = false; });
    const zoom = d3.zoom().scaleExtent([0.15, 4])
      .extent(() => [[0, 0], [size().width, size().height]])
      .filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || isEntered || frame.contains(document.activeElement)))
      .on("zoom", ({ transform }) => {
        view.attr("transform", transform).style("--zoom", transform.k);
        if (transform.k === scale) return place();
        scale = transform.k;
        grown = Math.max(1, 0.4 / scale);
        move();
      });

    function showAll() {
      const all = [...nodes.values()], { width: wide, height: high } = size();
      const [left, right] = d3.extent(all, (one) => one.x), [top, bottom] = d3.extent(all, (one) => one.y);
      const k = Math.min(1.6, (wide - 50) / (right - left), (high - 110) / (bottom - top)); // room for labels and tools
      svg.call(zoom.transform, d3.zoomIdentity.translate(wide / 2, high / 2 + 20).scale(Math.max(k, 0.15)).translate(-(left + right) / 2, -(top + bottom) / 2));
    }

    const zoomBy = (by) => (by ? svg.call(zoom.scaleBy, by) : showAll());
    frame.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.zoom) zoomBy(Number(button.dataset.zoom));
      else if (button && "close" in button.dataset) { const one = chosen; choose(null); goTo(one); }
      else if (button && "more" in button.dataset) add();
    });
    frame.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const at = nodes.get(document.activeElement.dataset.key);
      const by = { "+": 1.4, "=": 1.4, "-": 0.7, 0: 0 }[event.key];
      if (event.key === "Escape" && chosen) { const one = chosen; choose(null); goTo(one); }
      else if (by !== undefined) zoomBy(by);
      else if (at && (event.key === "Enter" || event.key === " ")) choose(at === chosen ? null : at);
      else if (at && way) {
        const ahead = (one) => (one.x - at.x) * way[0] + (one.y - at.y) * way[1];
        const beside = (one) => Math.abs((one.x - at.x) * way[1] - (one.y - at.y) * way[0]);
        const next = d3.least([...nodes.values()].filter((one) => one !== at && ahead(one) > 0), (one) => ahead(one) + 2 * beside(one));
        if (next) goTo(next);
      } else return;
      event.preventDefault();
    });
    find?.addEventListener("input", () => {
      words = find.value.trim().toLocaleLowerCase();
      const found = [...nodes.values()].filter(matches).length;
      if (words) count.textContent = say("%(count)s found in the picture. Enter looks in all.", { count: found });
      else count.replaceChildren(...[...counted].map((one) => one.cloneNode(true)));
      place();
    });

    read(rows.querySelectorAll("[data-edge]"));
    settle();
    svg.call(zoom).on("dblclick.zoom", null);
    render();
    showAll();
    new ResizeObserver(() => { if (!chosen) showAll(); }).observe(svg.node());
  }
}
