const find = id => document.getElementById(id);
function make(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className; made.textContent = text;
  return made;
}
