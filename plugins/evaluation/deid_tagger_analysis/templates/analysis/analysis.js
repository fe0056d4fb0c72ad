"use strict";
(() => {
  const data = JSON.parse(document.getElementById("points").textContent);
  const view = document.getElementById("view");
  const start = { azimuth: -0.9, elevation: 0.35 };
  const turn = { ...start };
  const hidden = new Set();
  const outside = data.names.length - 1;
  const panels = [], signs = [];

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (kind) => {
    if (kind === outside) return style("--line");
    if (kind >= data.own) return style("--muted");
    return kind === data.colours.length - 1 ? style("--ink") : data.colours[kind];
  };

  function place([x, y, z]) {
    const right = Math.cos(turn.azimuth) * x - Math.sin(turn.azimuth) * y;
    const back = Math.sin(turn.azimuth) * x + Math.cos(turn.azimuth) * y;
    const up = Math.cos(turn.elevation) * z + Math.sin(turn.elevation) * back;
    return [right, up, Math.sin(turn.elevation) * z - Math.cos(turn.elevation) * back];
  }

  const SHAPES = {
    o: (c, r) => c.arc(0, 0, r, 0, 7),
    s: (c, r) => c.rect(-r * 0.9, -r * 0.9, r * 1.8, r * 1.8),
    "^": (c, r) => { c.moveTo(0, -r * 1.1); c.lineTo(r, r * 0.8); c.lineTo(-r, r * 0.8); },
    v: (c, r) => { c.moveTo(0, r * 1.1); c.lineTo(r, -r * 0.8); c.lineTo(-r, -r * 0.8); },
    D: (c, r) => { c.moveTo(0, -r * 1.2); c.lineTo(r * 1.2, 0); c.lineTo(0, r * 1.2); c.lineTo(-r * 1.2, 0); },
    P: (c, r) => { c.rect(-r * 0.4, -r * 1.1, r * 0.8, r * 2.2); c.rect(-r * 1.1, -r * 0.4, r * 2.2, r * 0.8); },
    X: (c, r) => { c.rotate(0.785); c.rect(-r * 0.4, -r * 1.2, r * 0.8, r * 2.4); c.rect(-r * 1.2, -r * 0.4, r * 2.4, r * 0.8); },
    x: (c, r) => { c.moveTo(-r, -r); c.lineTo(r, r); c.moveTo(r, -r); c.lineTo(-r, r); },
  };

  function mark(context, kind, x, y, size) {
    const shape = kind === outside ? "o" : kind >= data.own ? "x" : data.markers[kind];
    context.save();
    context.translate(x, y);
    context.beginPath();
    SHAPES[shape](context, kind === outside ? size * 0.55 : size);
    if (shape === "x") { context.strokeStyle = colour(kind); context.stroke(); } else { context.fillStyle = colour(kind); context.fill(); }
    context.restore();
  }

  function sized(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return context;
  }

  function edges(context, at) {
    context.strokeStyle = style("--line");
    context.lineWidth = 1;
    for (const axis of [0, 1, 2]) {
      for (const one of [-1, 1]) for (const two of [-1, 1]) {
        const ends = [-1, 1].map((end) => { const corner = [one, two]; corner.splice(axis, 0, end); return at(place(corner)); });
        context.beginPath();
        context.moveTo(...ends[0]);
        context.lineTo(...ends[1]);
        context.stroke();
      }
    }
  }

  function draw({ canvas, layer, chosen }) {
    const width = canvas.clientWidth, height = Math.round(width * 0.88);
    canvas.style.height = `${height}px`;
    const context = sized(canvas, width, height);
    const unit = width / 3.6;
    const at = ([x, y]) => [width / 2 + x * unit, height / 2 - y * unit];
    context.clearRect(0, 0, width, height);
    edges(context, at);
    context.fillStyle = style("--muted");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    [[0, -1.15, -1.15], [1.15, 0, -1.15], [-1.15, -1.15, 0]].forEach((spot, axis) => {
      const [x, y] = at(place(spot));
      context.fillText(`PC${axis + 1} ${Math.round(layer.explained[axis] * 100)}%`, Math.min(Math.max(x, 26), width - 26), y);
    });
    chosen.filter((point) => !hidden.has(data.kinds[point]))
      .map((point) => [data.kinds[point], ...place(layer.points[point])])
      .sort((a, b) => (b[0] === outside) - (a[0] === outside) || a[3] - b[3])
      .forEach(([kind, x, y]) => mark(context, kind, ...at([x, y]), 3.2));
  }

  const drawSign = ({ canvas, sign }) => mark(sized(canvas, 14, 14), sign, 7, 7, 4.5);
  const drawAll = () => { panels.forEach(draw); signs.forEach(drawSign); };
  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawAll(); });
  }

  function turned(right, up) {
    turn.azimuth += right;
    turn.elevation = Math.max(-1.5, Math.min(1.5, turn.elevation + up));
    later();
  }

  function listen(canvas) {
    let last = null;
    canvas.addEventListener("pointerdown", (event) => { last = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      turned((event.clientX - last[0]) / 120, (event.clientY - last[1]) / 120);
      last = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (step) { event.preventDefault(); turned(...step); }
    });
  }

  function legend() {
    const list = document.createElement("p");
    list.className = "keys";
    data.names.forEach((name, kind) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const sign = document.createElement("canvas");
      sign.className = "sign";
      button.append(sign, ` ${name}`);
      button.addEventListener("click", () => {
        if (!hidden.delete(kind)) hidden.add(kind);
        button.setAttribute("aria-pressed", String(!hidden.has(kind)));
        later();
      });
      list.append(button);
      signs.push({ canvas: sign, sign: kind });
    });
    const reset = document.createElement("button");
    reset.type = "button";
    reset.textContent = "Turn back";
    reset.addEventListener("click", () => { Object.assign(turn, start); later(); });
    list.append(reset);
    view.append(list);
  }

  function panel(layer, languages) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const share = layer.explained.reduce((sum, one) => sum + one, 0);
    const where = data.rows.length > 1 ? `, ${languages[0]}` : "";
    caption.textContent = `${layer.name}${where}: ${Math.round(share * 100)}% of the variance`;
    const canvas = document.createElement("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Words in space by label, ${caption.textContent}. Arrow keys turn it.`);
    figure.append(caption, canvas);
    const chosen = data.languages.flatMap((language, point) => (languages.includes(language) ? [point] : []));
    panels.push({ canvas, layer, chosen });
    listen(canvas);
    return figure;
  }

  function show() {
    legend();
    const grid = document.createElement("div");
    grid.className = ["spaces one", "spaces", "spaces three"][Math.min(data.layers.length, 3) - 1];
    data.rows.forEach((languages) => data.layers.forEach((layer) => grid.append(panel(layer, languages))));
    view.append(grid);
    const hint = document.createElement("p");
    hint.className = "note";
    hint.textContent = "Drag, or press arrow keys, to turn all views together; a key hides its label.";
    view.append(hint);
    view.hidden = false;
    document.getElementById("picture").classList.add("paper");
    later();
    window.addEventListener("resize", later);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  }

  show();
})();
