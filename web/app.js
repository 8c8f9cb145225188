// The page of fwl serve: a conversation with a session that learns, and documents that it reads. No library, no build.
import { drawLines, events } from "./parts.js";

const $ = (id) => document.getElementById(id);
const remembered = (key, value) => value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value);

let session = remembered("fwl-session");
let names = [];  // of all sessions
let messages = [];
let hasTemplate = true;
let running = null;  // an AbortController while the server works for us
const drifts = [];   // of this session, request by request

function say(text) { $("status").textContent = text; }

function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
}

async function call(method, path, body, options = {}) {
  let response;
  try {
    response = await fetch(path, { method, body, ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    showOffline();
    throw new Error("The server is away: nothing was sent.");
  }
  $("offline").hidden = true;
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.error?.message ?? `the server answered ${response.status}`);
}

const getJson = async (path) => (await call("GET", path)).json();
const postJson = (path, body, options) =>
  call("POST", path, JSON.stringify(body), { headers: { "Content-Type": "application/json" }, ...options });

// Tries until the server is back, then shows everything anew.
function showOffline() {
  if (!$("offline").hidden) return;
  $("offline").hidden = false;
  const again = setInterval(async () => {
    try {
      if (!(await fetch("health")).ok) return;
      clearInterval(again);
      $("offline").hidden = true;
      start();
    } catch { /* still away */ }
  }, 1000);
}

// --- the conversation

function addArticle(role, text) {
  const article = document.createElement("article");
  article.className = role;
  const name = document.createElement("h3");
  name.textContent = role === "user" ? "You" : "Model";
  const content = document.createElement("div");
  content.textContent = text;
  article.append(name, content);
  $("log").append(article);
  $("log").scrollTop = $("log").scrollHeight;
  return content;
}

// A piece of an answer, coloured by the change of its log-probability.
function addPiece(parent, text, scores) {
  const changes = (scores ?? []).filter((score) => score.logprob !== null).map((score) => score.logprob - score.slow_logprob);
  const change = changes.reduce((sum, one) => sum + one, 0);
  const span = document.createElement("span");
  span.textContent = text;
  const strength = Math.min(Math.abs(change) / 3, 1) * 0.6;
  if (strength > 0.02) {
    span.style.background = `rgba(var(--${change > 0 ? "up" : "down"}), ${strength})`;
    span.title = `${change > 0 ? "+" : ""}${change.toFixed(2)} nats by the fast weights`;
  }
  parent.append(span);
}

async function busyWhile(action, onFailure) {
  if (running) return;
  running = new AbortController();
  $("stop").hidden = false;
  $("send").hidden = true;
  $("log").setAttribute("aria-busy", "true");  // an answer is read out when it is whole
  try {
    await action(running.signal);
  } catch (error) {
    onFailure?.();
    say(error.name === "AbortError" ? "Stopped. The session is as it was before." : error.message);
  } finally {
    running = null;
    $("stop").hidden = true;
    $("send").hidden = false;
    $("log").removeAttribute("aria-busy");
    await refresh().catch((error) => say(error.message));
  }
}

async function ask(question) {
  await busyWhile(async (signal) => {
    const asked = [...messages, { role: "user", content: question }];
    addArticle("user", question);
    const content = addArticle("assistant", "");
    const shared = { session_id: session, stream: true, fast_scores: true, max_tokens: 512 };
    const response = hasTemplate
      ? await postJson("v1/chat/completions", { ...shared, messages: asked }, { signal })
      : await postJson("v1/completions", { ...shared, prompt: question }, { signal });
    let answer = "";
    for await (const event of events(response)) {
      const choice = event.choices[0];
      const text = choice?.delta?.content ?? choice?.text ?? "";
      if (!text) continue;
      answer += text;
      addPiece(content, text, choice.fast_scores);
      $("log").scrollTop = $("log").scrollHeight;
    }
    messages = [...asked, { role: "assistant", content: answer }];
    say("");
  }, () => {  // what the session does not know is not shown as if it did
    for (const article of [...$("log").children].slice(-2)) article.classList.add("undone");
    if (!$("question").value) $("question").value = question;
  });
}

// --- documents

async function readDocument(file) {
  await busyWhile(async (signal) => {
    const points = { with: [], without: [] };
    $("reading").hidden = false;
    $("reading-note").textContent = `Reading ${file.name} …`;
    const response = await call("POST", `v1/sessions/${session}/read`, await file.text(),
                                { headers: { "Content-Type": "text/plain" }, signal });
    for await (const event of events(response)) {
      if (event.perplexity === null) continue;
      points.with.push([event.tokens, event.perplexity]);
      points.without.push([event.tokens, event.slow_perplexity]);
      const settled = Math.ceil(points.with.length / 10);  // the first tokens are off the scale
      drawLines($("perplexity"), { with: points.with.slice(settled), without: points.without.slice(settled) }, "perplexity");
      const numbers = `perplexity ${event.perplexity.toFixed(2)} with fast weights, ${event.slow_perplexity.toFixed(2)} without`;
      $("reading-note").textContent = `${file.name}: ${event.tokens} of ${event.total} tokens, ${numbers}`;
    }
    say(`${file.name} is read.`);
  });
}

// --- sessions

async function refresh() {
  const list = (await getJson("v1/sessions")).data;
  names = list.map((one) => one.id);
  if (!list.some((one) => one.id === session) && session) list.unshift({ id: session });
  $("sessions").replaceChildren(...list.map((one) => {
    const button = document.createElement("button");
    button.textContent = one.id;
    if (one.id === session) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => choose(one.id));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }));
  await showState(list.some((one) => one.id === session && one.bytes));
}

async function showState(exists) {
  $("state").hidden = !exists;
  if (!exists) return;
  const facts = await getJson(`v1/sessions/${session}`);
  $("facts").textContent = `${facts.tokens_read} tokens read, ${facts.fast_tokens} learned from, ` +
    size(facts.memory_bytes);
  $("export").href = `v1/sessions/${session}/export`;
  const weights = Object.values(facts.drift);
  const drift = weights.length ? 100 * Math.max(...weights) : 0;
  if (drifts.at(-1)?.[1] !== drift) drifts.push([drifts.length, drift]);
  $("drift-chart").hidden = drifts.length < 2;
  drawLines($("drift"), { with: drifts }, "%");
  return facts;
}

async function choose(id) {
  if (running) return;
  session = id;
  remembered("fwl-session", id);
  drifts.length = 0;
  messages = [];
  $("log").replaceChildren();
  $("reading").hidden = true;
  say("");
  await refresh();
  if ($("state").hidden) return;
  messages = (await getJson(`v1/sessions/${id}`)).messages;
  for (const message of messages) addArticle(message.role, message.content);
}

// Runs a change of the session, then shows it as it is now.
async function change(action, note) {
  try {
    await action();
    await choose(session);
    say(note);
  } catch (error) {
    say(error.message);
  }
}

// "notes", "notes-2", "notes-3", …: the first that is free.
function newName(base) {
  const stem = base.replace(/-\d+$/, "").slice(0, 56);
  let name = stem;
  for (let number = 2; names.includes(name); ++number) name = `${stem}-${number}`;
  return name;
}

// --- start

async function start() {
  try {
    const props = await getJson("props");
    hasTemplate = props.chat_template !== "";
    $("model").textContent = props.model_alias + (hasTemplate ? "" : " (continues texts: it has no chat template)");
    await refresh();
    await choose(session ?? newName("talk"));
  } catch (error) {
    say(error.message);
  }
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = $("question").value.trim();
  if (!question || running) return;
  $("question").value = "";
  ask(question);
});
$("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") running?.abort(); });
$("stop").addEventListener("click", () => running?.abort());
$("file").addEventListener("change", () => {
  const [file] = $("file").files;
  if (file) readDocument(file);
  $("file").value = "";
});
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  if (file) readDocument(file);
});
$("new-session").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("new-name").value.trim() || newName("talk");
  $("new-name").value = "";
  choose(name);
});
$("fork").addEventListener("click", () => change(async () => {
  const fork = newName(session);
  await postJson("v1/sessions", { id: fork, from: session });
  session = fork;
}, "This is the fork. The original stays as it is."));
$("undo").addEventListener("click", () => change(() => call("POST", `v1/sessions/${session}/undo`), "The last request is undone."));
$("forget").addEventListener("click", () => {
  if (!confirm(`Forget ${session} and everything that it has learned?`)) return;
  change(async () => {
    await call("DELETE", `v1/sessions/${session}`);
    names = names.filter((name) => name !== session);
    session = newName("talk");
  }, "Forgotten.");
});

start();
