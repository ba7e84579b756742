"use strict";
// Text enters a page by textContent alone, never as markup.
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
