import streamlit as st

st.title("Analysis")
