const find = (id) => document.getElementById(id);
const asking = { busy: false, waiting: null }; // the latest question while another is under way

// One question at a time; of those asked meanwhile only the last is of interest.
const ask = async (path, question, show) => {
  if (asking.busy) {
    asking.waiting = [path, question, show];
    return;
  }
  asking.busy = true;
  const slow = setTimeout(() => { document.body.classList.add("loading"); find("status").textContent = "loading \u2026"; }, 150);
  try {
    const body = JSON.stringify(question);
    const answer = await fetch("." + path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const made = await answer.json();
    if (answer.ok) show(made, path);
    find("status").textContent = answer.ok ? "" : made.error;
  } catch {
    find("status").textContent = "No answer: has the command been stopped?";
  }
  clearTimeout(slow);
  document.body.classList.remove("loading");
  asking.busy = false;
  if (asking.waiting) {
    const next = asking.waiting;
    asking.waiting = null;
    ask(...next);
  }
};
